"""Texts that mean something to a shell, to Python, YAML, HTML, a script, a spreadsheet or a terminal: data wherever they come back."""

# Those that go into every field, on its own.
IN_FIELDS = ["<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 1'>", "javascript:window.ran=1",
             "'; window.ran = 1; '", "\"><svg onload=window.ran=1>", "</script></pre><script>window.ran=1</script>",
             "${window.ran = 1}", "{{constructor.constructor('window.ran=1')()}}", "__proto__", "constructor", "toString",
             "1e999", "NaN", "Infinity", "-1", "0x10", "1,0,0", "1 000", "9" * 400, "%E0%A4%A", "a&vs=b#c=d",
             "data:text/html,<script>window.ran=1</script>", "\u202e\u0000\ufffd\U0001f600"]
TEXTS = [*(text for text in IN_FIELDS if "\u0000" not in text), "$(touch ran)", "`touch ran`", "'; touch ran; '",
         "\"; touch ran; \"", "x\nEND\ntouch ran\n", "x\r\nEND\r\ntouch ran", "END", "END \nENDD\ntouch ran", "\\", "\\'\\\"\\n",
         "a\\", "!!touch", "--report=ran.html", "~/x", "'''\nran = 1\n'''", '"""\nran = 1\n"""', "')\nran = 1\n('", "{ran}",
         "%s%n", "!touch ran", "%run ran", "?x", "!!python/object/apply:os.system [touch ran]", "&a x", "*a", "x: y", "- x",
         "# x", "x #y", "[x]", "{x: y}", "| x", "> x", "null", "~", "true", "yes", "No", "010", "1_000", "1:30", "2026-01-01",
         ".inf", "=cmd()", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-1+1", "a,b", 'a"b', "a;b", "a\tb", "Zürich", "日本",
         "\U0001f600"]
# Characters that show nothing, or change how others are shown or taken: refused wherever a text comes in.
HIDDEN = ["\u202etxt.exe", "a\u0000b", "a\u001b[31m", "a\u0003b", "a\u0004b", "a\u007fb", "a\u0085b", "a\u009bb", "a\u200bb", "a\u2028b", "a\u2066b"]
