"""`gpucalc mcp`: a client of the protocol's own SDK calls every tool; bad input gets the words of the command line."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from gpucalc import cli, cli_decide, cli_mcp
from gpucalc.core.evaluate import FINDERS

ROOT = Path(__file__).parents[2]
SERVE = {"job": "serve", "model": "llama 3 8b", "requests_per_second": 5}
CACHE = {"model": "llama 3 70b", "context": 8192, "batch": 32}
# A tool, its arguments, what the answer says, and the page that shows it.
GOOD = [
    ("decide", {"case": "70b chat, 10 requests a second on h100 sxm, first token under 1 s"}, "Take ", "index.html#job=serve&cards=H100"),
    ("decide", {"case": SERVE}, "A40 48GB", "index.html#job=serve&model=Llama-3-8B&requests_per_second=5"),
    ("decide", {"case": json.dumps(SERVE)}, "A40 48GB", "index.html#job=serve"),
    ("decide", {"case": "QLoRA Llama 3 8B on 10 million tokens on one L4"}, "L4 24GB", "index.html#job=qlora"),
    ("decide", {"case": "Rent or buy 8 x H100 SXM, used 60 % of the time for 4 years"}, "H100 SXM", "index.html#job=rent_or_buy"),
    ("decide", {"case": {"job": "serve", "model": "Llama-3-70B", "requests_per_second": 1, "cards": "RTX 3060 12GB", "own_cards": 1}},
     "do not meet the limits", "own_cards=1"),
    ("compare", {"first": SERVE, "second": SERVE | {"requests_per_second": 50}}, "requests per", "requests_per_second=50&vs=job%3Dserve"),
    ("compare", {"first": "llama 3 8b, 5 requests a second", "second": SERVE}, "What does it cost?", "vs=job%3Dserve"),
    ("explain", {"formula": "kv_bytes", "inputs": CACHE}, "85.9 GB (85,899,345,920 B)", "api_formulas.html#kv-bytes"),
    ("explain", {"formula": "kv_bytes", "inputs": CACHE | {"context": "8_192"}}, "85.9 GB", "api_formulas.html#kv-bytes"),
    ("explain", {"formula": "params", "inputs": {"model": "qwen 2.5 7b"}}, "7,615,616,512", "api_formulas.html#params"),
    ("explain", {"formula": "tokens_per_second", "inputs": {"model": "Llama-3-8B", "gpu": "h100 sxm", "batch": 8, "context": 4096,
                                                            "efficiency": "achieved"}}, "Plan for", "#tokens-per-second"),
    ("explain", {"formula": "break_even_utilization", "inputs": {"fixed_usd_per_hour": 1.5, "work_usd_per_hour": 2, "level_usd_per_hour": 1}},
     "no limit", "api_formulas_money.html#break-even-utilization"),
    ("look_up", {"kind": "gpu", "name": "h100 sxm"}, "rent on-demand: ", "cards.html"),
    ("look_up", {"kind": "model", "name": "llama 3 70b"}, "Meta-Llama-3-70B", "models.html"),
    ("look_up", {"kind": "link", "name": "NVLink 4"}, "450 GB/s", "interconnect.html"),
    ("look_up", {"kind": "weight_format", "name": "FP8"}, "1.00 B", "quantization.html"),
    ("look_up", {"kind": "job", "name": "serve"}, "requests_per_second", "index.html"),
    ("look_up", {"kind": "formula", "name": "kv cache"}, "kv_bytes", "api.html"),
    ("look_up", {"kind": "recipe", "name": "qlora"}, "LoRA", "training_memory.html")]
# A tool, bad arguments, and the command that says the same.
BAD = [
    ("decide", {"case": "serve llama 9 300b, 5 requests a second"}, ["ask", "serve llama 9 300b, 5 requests a second"]),
    ("decide", {"case": " "}, ["ask", " "]),
    ("decide", {"case": SERVE | {"model": "llama 70b"}}, "case"), ("decide", {"case": SERVE | {"promt": 1}}, "case"),
    ("decide", {"case": {"job": "serv"}}, "case"),
    ("explain", {"formula": "kv_bites", "inputs": {}}, ["kv_bites"]),
    ("explain", {"formula": "kv_bytes", "inputs": CACHE | {"context": 0}}, ["kv_bytes", "--model", "llama 3 70b", "--batch", "32", "--context", "0"]),
    ("explain", {"formula": "kv_bytes", "inputs": {"modle": "x"}}, ["kv_bytes", "--modle=x"]),
    ("look_up", {"kind": "gpu", "name": "h1000"}, ["show", "gpu", "h1000"]),
    ("look_up", {"kind": "gpus", "name": "h100"}, ["show", "gpus", "h100"]),
    ("compare", {"first": SERVE, "second": {"job": "qlora", "model": "llama 3 8b", "training_tokens": 1e7}}, None)]


def calls(server, asked):
    """The answers to calls of tools, in one session."""
    async def session():
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools], [await client.call_tool(*each) for each in asked]
    with ThreadPoolExecutor(1) as apart:  # a browser's tests may hold this thread's loop
        return apart.submit(anyio.run, session).result()


@pytest.fixture(scope="module")
def answers(book):
    names, found = calls(cli_mcp.server(), [each[:2] for each in (*GOOD, *BAD)])
    assert names == [tool.__name__ for tool in cli_mcp.TOOLS] and {tool for tool, *_ in GOOD} == {*names} and len(GOOD) == 20 and len(BAD) > 9
    return found


def is_day(text):
    return bool(text) and re.fullmatch(r"\d{4}(-\d\d){0,2}", text) and text <= date.today().isoformat()


@pytest.mark.parametrize("place", range(len(GOOD)), ids=lambda place: f"{GOOD[place][0]} {place}")
def test_each_answer_has_its_sources_with_dates_its_band_and_its_page(answers, place):
    tool, _, says, page = GOOD[place]
    found, data = answers[place], answers[place].structured_content
    assert not found.is_error and says in found.content[0].text and page in data["page"] and f"Shown on {data['page']}" in found.content[0].text
    assert all(each["source"] and is_day(each["date"]) for each in data["sources"]) and (data["sources"] or tool != "decide")
    bands = data["bands"] if tool == "decide" else [band for side in data["bands"].values() for band in side.values()] if tool == "compare" else []
    if tool == "explain" and data["band"]:
        bands = [data["band"]]
    assert all(band["low"] <= band["plan"] <= band["high"] for band in bands if band["low"] is not None)
    assert tool not in ("decide", "compare") or bands or "do not meet" in says


@pytest.mark.parametrize("place", range(len(BAD)), ids=lambda place: f"{BAD[place][0]} {place}")
def test_a_bad_argument_gets_the_words_of_the_command_line(answers, place, capsys, tmp_path):
    _, given, words = BAD[place]
    found = answers[len(GOOD) + place]
    text = found.content[0].text
    assert found.is_error and "Traceback" not in text
    if words == "case":
        path = tmp_path / "case.yaml"
        path.write_text("".join(f"{name}: {value}\n" for name, value in given["case"].items()))
        assert cli_decide.main([str(path)]) == 2
        assert capsys.readouterr().err.strip().replace(f"{path}: ", "") == text
    elif words:
        assert (cli_decide.main(words[1:], True) if words[0] == "ask" else cli.main(words)) == 2
        assert capsys.readouterr().err.strip().removeprefix("gpucalc: ") == text
    else:
        assert "allowed" in text


def test_the_command_serves_on_stdin_and_stdout():
    params = StdioServerParameters(command=sys.executable, args=["-m", "gpucalc", "mcp"], env=os.environ | {"BOOK_URL": "https://a.org/b/"})
    _, (found,) = calls(stdio_client(params), [GOOD[8][:2]])
    assert "85.9 GB" in found.content[0].text and found.structured_content["page"] == "https://a.org/b/api_formulas.html#kv-bytes"


def test_without_the_sdk_it_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    done = subprocess.run([sys.executable, "-m", "gpucalc", "mcp"], env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}, text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (2, "") and "pip install 'gpucalc[mcp]'" in done.stderr and "Traceback" not in done.stderr


def test_every_kind_of_row_has_its_page():
    pages = {path.stem for path in (*(ROOT / "notebooks").glob("*.md"), *(ROOT / "book").glob("*.md"))}
    assert {*cli_mcp.ROWS} == {*cli.KINDS} <= {*FINDERS} and all(page.partition(".")[0] in pages for page in cli_mcp.ROWS.values())
