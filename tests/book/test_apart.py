"""Tables and pictures of prompts and answers apart."""
from book.pages.experts import chunk_table, draft_table, front_chart, handover_picture, predicted_gains, times_picture
from gpucalc import serving as sv
from tests.gpucalc.test_apart import CHAT


def test_a_prediction_layer_gains_as_published():
    """DeepSeek-V3 (arXiv 2412.19437, section 5.4.3): 85 to 90 % of second tokens are accepted, for 1.8 times the tokens a second."""
    assert 1.8 < sv.accepted_tokens(0.85, 1) < sv.accepted_tokens(0.9, 1) < 1.91
    assert all(1 < float(gain.split()[0]) < 1.85 for gain in predicted_gains(0.85, [1, 8, 64, 256]))


def test_tables_and_pictures_say_their_numbers():
    whole = CHAT(sv.replica_prefill_seconds)
    chunks = chunk_table(CHAT).source
    assert f'data-value="{whole:.12g}"' in chunks and chunks.count("<tr>") == 6
    assert "85 %" in draft_table(0.85).source and draft_table(0.8).source.count("<th scope") == 4
    assert "1.31 GB of cache" in handover_picture(CHAT.but(prompts_apart=1)).plain
    shown = times_picture(CHAT)
    passes = 2 * round(300 / 32)
    assert f"in the time of {passes}" in shown.plain and shown.source.count('class="fill-b"') >= 5


def test_the_front_gives_as_much_with_all_servers_busy_but_at_another_pace():
    title = front_chart(CHAT).usermeta["title"]
    mixed, apart = (float(word.replace(",", "")) for word in title.split() if word.replace(",", "").replace(".", "").isdigit()
                    if float(word.replace(",", "")) != 40)
    assert apart > mixed
