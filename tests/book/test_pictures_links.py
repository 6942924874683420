"""The pictures of links and of serving, and the table of cards that share a model: their figures are the formulas'."""
import re
from itertools import pairwise

import pytest

from book.pages.interconnect import known, neighbor_picture, one_user, ring_picture, splits, useful
from book.pages.serving import batching_picture, queue_picture, schedule, slice_table, written
from gpucalc import Case, interconnect as ic, serving as sv
from gpucalc.core.evaluate import Row
from gpucalc.core.figures import seconds
from gpucalc.rows import catalogue
from tests.pictures import widths

SERVER = Case(model="Llama-3-70B", gpu="A100 SXM 80GB", link="NVLink 3", efficiency="achieved", tensor_parallel=8, batch=20, prompt=500,
              output=200, context=sv.mean_context, requests_per_second=1000 / 60)


def test_a_ring_ends_with_all_pieces_everywhere():
    drawn = ring_picture().source
    assert "each sends 1.5 times its own data" in drawn
    # One finished piece on each GPU after half the steps, all four at the end, and one of each color below.
    assert [len(re.findall(rf'fill-{color}"', drawn)) for color in "abcd"] == [1 + 4 + 1] * 4


def test_a_link_without_what_is_not_known():
    link = catalogue.link("InfiniBand NDR")
    unknown = known(Row({**link, "latency": float("nan")}, link.name, link.kind))
    assert (unknown.name, unknown.kind) == (link.name, link.kind) and {*link} - {*unknown} >= {"latency"} and "link_bandwidth" in unknown


def test_neighbors_have_what_the_ports_give():
    mesh = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="9"', neighbor_picture(catalogue.link("InfiniBand NDR")).source)
    assert sum(float(x) > 204 for x, _ in mesh) == 8 == len(mesh) / 2, "a switch on the left, a mesh on the right"
    drawn = neighbor_picture(catalogue.link("InfiniBand NDR")).source
    assert all(rate in drawn for rate in ("450 GB/s", "64 GB/s", "31.5 GB/s", "50 GB/s", "900 GB/s"))
    assert len(re.findall(r'<circle [^>]*r="5"', drawn)) == 72
    assert Case(gpu="MI300X 192GB", ranks=2)(ic.group_bandwidth) == 448e9 / 7 and "14.3 times" in drawn


@pytest.mark.parametrize("continuous", [False, True])
def test_a_server_answers_in_turn(continuous):
    """Each prompt stops the others; an answer has all its tokens; no slot stands idle while somebody waits, if batching continues."""
    answers = (3, 1, 2, 2)
    done = schedule(continuous, answers, prompt=5, token=1, slots=2)
    doing = [each for _, _, each in done]
    assert sum(moment.count("prompt") for moment in doing) == len(answers) and written(done) == sum(answers)
    assert all(set(moment) <= {"prompt", "pause", None} or "prompt" not in moment for moment in doing)
    started = [start for start, _, moment in done if "prompt" in moment]
    assert started == ([0, 5, 11, 18] if continuous else [0, 5, 13, 18])
    assert all(before[1] == after[0] for before, after in pairwise(done)) and all(
        end - start == (5 if "prompt" in moment else 1) for start, end, moment in done)


def test_the_batch_that_is_kept_full_writes_more():
    """Both lines last as long, and a box is as wide as what it stands for lasts: the gain is that of the printed times."""
    drawn = batching_picture(SERVER)
    more, fewer = (float(each.replace(",", "")) for each in re.search(r"writes ([\d,]+) tokens instead of ([\d,]+) in", drawn.source).groups())
    prompt, token = SERVER(sv.replica_prefill_seconds), SERVER(sv.replica_pass_seconds)
    longest = [round(200 * 1.6), round(200 * 1.3)]
    lasts = 8 * prompt + sum(longest) * token
    answers = [round(200 * each) for each in (1.1, 0.5, 1.6, 0.8, 0.9, 1.3, 0.6, 1.0)]
    assert fewer == sum(answers) and fewer < more < 4 * lasts / token
    assert f"in {seconds(lasts)}" in drawn.source and 'data-yours="replica_pass_seconds"' in drawn.source
    prompts = [wide + 0.4 for wide in widths(drawn, "b") if wide != 12]
    assert len(prompts) > 16 and prompts[0] == pytest.approx(324 * prompt / lasts, rel=0.02)


@pytest.mark.parametrize("replicas", [1, 3, 6])
def test_the_queue_shows_the_places_that_are_filled(replicas):
    drawn = queue_picture(SERVER.but(replicas=replicas)).source
    inside = 1000 / 60 * SERVER(sv.request_seconds)
    assert f"{inside:.0f} inside at once" in drawn
    filled = min(-(-inside // replicas), 20)
    assert len(re.findall(r'fill-a"', drawn)) == min(replicas, 4) * filled


def test_cards_that_share_a_model():
    found = splits("Llama-3-70B", "RTX 4090 24GB").set_index("gpus")
    # 141 GB of weights in BF16 are six cards of 24 GB, 40 GB in four bits are two; eight divide the heads.
    assert found["BF16"].tolist() == ["no", "no", "no", "yes"] and found["4 bits"].tolist() == ["no", "yes", "yes", "yes"]
    case = one_user("Llama-3-70B", "RTX 4090 24GB", 4, "INT4-g128")
    assert found.loc[4, "token"] == case.band(sv.replica_pass_seconds).plan > case(sv.replica_pass_seconds)
    assert found.loc[4, "prompt_sending"] == case(sv.prompt_exchange_seconds) / case(sv.replica_prefill_seconds)
    assert useful(found.reset_index()) == 4 and useful(found.reset_index(), least=0.9) == 1


def test_slices_of_a_card_and_the_whole():
    drawn = slice_table("A100 SXM 80GB", "Llama-3-8B").source
    rows = re.findall(r'<tr><td class="short">(.*?)</td><td class="number" data-value="(\d+)">', drawn)
    assert rows == [("1g.10gb", "7"), ("2g.20gb", "3"), ("3g.40gb", "2"), ("the whole card", "1")]
