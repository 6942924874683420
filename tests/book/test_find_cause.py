"""What a GPU waits for: hand calculations, drawn stragglers, and the page's PyTorch on a processor."""
import random
import re

import pytest

from book.build.inputs import ROOT
from book.pages import find_cause, hardware_facts
from book.pages.find_cause import ADVICE, causes_table, WRONG_LOG
from gpucalc import waiting as wt
from gpucalc.core.evaluate import Row
from gpucalc.rows import price_book
from tests.close import close

H100 = "H100 SXM 80GB"
# NVIDIA/nccl-tests, issue 188: lines as they were posted, others left out.
RIGHT_LOG = """\
user:695836:695883 [5] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_2:1/IB [2]mlx5_4:1/RoCE [RO]; OOB ibs85f0:192.168.1.14<0>
user:695836:695883 [5] NCCL INFO Using network IB
"""


# By hand

def test_data():
    # 2,048 samples in a quarter of a second are 8,192 a second; 32 processes at 128 give half of that.
    assert wt.needed_samples_per_second(2048, 0.25) == 8192
    assert wt.loader_samples_per_second(32, 128) == 4096
    assert wt.fed_share(4096, 8192) == 0.5 and wt.fed_share(9000, 8192) == 1, "a faster loader gives no more"
    assert wt.needed_workers(8192, 128) == 64 and wt.needed_workers(8193, 128) == 65
    # 8,192 images of 110 kB are 901 MB/s.
    assert wt.loaded_bytes_per_second(8192, 110e3) == close(901.12e6)


def test_kernels():
    # 200 kernels at 8 us are 1.6 ms; a pass of 0.8 ms then runs at half its speed.
    assert wt.starting_seconds(200, 8e-6) == close(1.6e-3)
    assert wt.launched_share(0.8e-3, 1.6e-3) == close(0.5) and wt.launched_share(2e-3, 1.6e-3) == 1


def test_memory():
    # NVIDIA's cosmos-rl, pull request 388: 60.93 GB of tensors in 126.97 GB.
    assert wt.unused_reserved_share(126.97e9, 60.93e9) == pytest.approx(0.5201, abs=1e-4)


def test_one_faster_part():
    # Half the time at twice the speed: 1 / (0.5 + 0.25). All of it: 2. Nothing: 1.
    assert wt.sped_up(0.5, 2) == close(4 / 3) and wt.sped_up(1, 2) == 2 and wt.sped_up(0, 2) == 1


# Stragglers

def test_one_gpu_waits_for_nobody():
    assert wt.straggler_factor(1, 0.05) == 1 and wt.straggler_factor(64, 0) == 1
    # ln 8 = 2.0794; the root of twice that is 2.0393.
    assert wt.straggler_factor(8, 0.02) == pytest.approx(1.040787, abs=1e-6)
    assert wt.slowed_share(1.5) == close(2 / 3)


@pytest.mark.parametrize("gpus", [2, 8, 64, 512])
def test_the_slowest_of_drawn_gpus_is_below_the_bound_and_not_far(gpus):
    draw = random.Random(gpus)
    mean = sum(max(draw.gauss(1, 0.02) for _ in range(gpus)) for _ in range(2000)) / 2000
    bound = wt.straggler_factor(gpus, 0.02)
    assert mean < bound and (mean - 1) / (bound - 1) > 0.45


def test_the_mean_of_the_slowest_by_numbers():
    # Largest of n standard normal values, as tables of order statistics print it: 0.5642, 1.4236, 2.5076 (n = 2, 8, 100).
    for gpus, largest in ((1, 0), (2, 0.5642), (8, 1.4236), (100, 2.5076)):
        assert find_cause.expected_slowest(gpus, 1) - 1 == pytest.approx(largest, abs=1e-3)


# The list

def test_each_cause_keeps_a_share_and_costs_the_rest():
    # 304 million parameters on 197 tokens: 6 x 304e6 x 197 x 2048 FLOP on 8 x 0.4 x 989e12 FLOP/s take 0.2325 s, 8,807 images a
    # second; 32 x 150 = 4,800 of them arrive.
    cause = find_cause.loading(H100, 304e6, 197, 0.4, gpus=8, step_samples=2048, loader_workers=32, worker_samples_per_second=150,
                               sample_bytes=110e3)
    assert cause.share == pytest.approx(4800 / 8807.4, rel=1e-3) and cause.case(wt.needed_workers) == 59
    # Sixteen GB of gradients there and back over 1.25 GB/s are 24.1 s; the step itself takes 2.0 s.
    sent = find_cause.network(H100, "Llama-3-8B", 16, 16384, 0.4, "Ethernet 10G")
    assert sent.share == pytest.approx(6 * 8_030_261_248 * 16384 / (989e12 * 0.4) / 24.0917, rel=1e-3)
    assert find_cause.network(H100, "Llama-3-8B", 16, 16384, 0.4, "InfiniBand NDR").share == 1
    # A third of the speed is lost: of 8 GPUs at 3 USD for 730 hours, 17,520 USD, a third.
    assert find_cause.costs([find_cause.slow_one(1.5)], Row({"usd_per_hour": 3.0}, "rent", "price")) == [close(5840)]
    # 128 FLOP a byte at 3.35 TB/s are 428.8 of 989 TFLOP/s; enough tokens reach all of them.
    assert find_cause.small_batch(H100, 128).share == pytest.approx(428.8 / 989) and find_cause.small_batch(H100, 4096).share == 1


def test_every_cause_has_its_advice():
    rent = hardware_facts.fleet(price_book.prices())
    causes = [find_cause.slow_one(1.5), find_cause.memory(10, 5), find_cause.small_batch(H100, 128), find_cause.wide(H100, 0.8),
              find_cause.launches(H100, "Llama-3.2-1B", 1000, 8e-6), find_cause.network(H100, "Llama-3-8B", 16, 16384, 0.4, "Ethernet 10G")]
    assert {each.name for each in causes} | {"data loading"} == set(ADVICE)
    assert causes_table(causes, find_cause.costs(causes, rent), "caption").source.count("<tr>") == 7


def test_a_card_without_tf32_is_refused():
    with pytest.raises(ValueError, match="^gpu 'T4 16GB': no tf32_flops in data/gpus.csv; allowed: a card with"):
        find_cause.wide("T4 16GB", 0.5)


def test_a_fleet_that_the_book_does_not_price():
    book = price_book.prices()
    assert hardware_facts.fleet_if_priced(book, H100).gpu == H100 and hardware_facts.fleet_if_priced(book[book["item"] != "rent"], H100) is None


def test_what_a_share_of_the_speed_costs_a_fleet():
    """Half the speed of 8 GPUs at 3 USD for 730 hours wastes half of 17,520 USD; more than all of it wastes nothing."""
    rent = Row({"usd_per_hour": 3.0}, "rent", "price")
    assert hardware_facts.wasted(0.5, rent) == close(8760) and hardware_facts.wasted(0.5, rent, 16) == close(17520) and hardware_facts.wasted(0, rent) == close(17520)
    assert hardware_facts.wasted(1, rent) == hardware_facts.wasted(1.01, rent) == 0


def test_the_fleet_is_of_whole_servers_of_eight(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("gpu,gpus,usd_per_hour,provider,term\nH100,1,2,A,on demand\nH100,4,2.2,B,on demand\nH100,8,2.5,C,on demand\nH100,8,1,D,spot\nL4,1,0.5,E,on demand\n")
    book = price_book.prices(path, True)
    assert hardware_facts.fleet(book).provider == hardware_facts.fleet_if_priced(book, H100).provider == "C" and hardware_facts.fleet(book, gpus=4).provider == "B"
    assert hardware_facts.fleet(book, term="spot").provider == hardware_facts.fleet_if_priced(book, H100, term="spot").provider == "D"
    assert hardware_facts.fleet_if_priced(book, "L4 24GB").provider == "E" and hardware_facts.fleet_if_priced(book, "L4 24GB", term="spot") is None


# Logs of NCCL

def test_a_log_over_tcp():
    found = find_cause.read(WRONG_LOG)
    assert (found.network, found.ports, found.bandwidth) == ("Socket", ("lo",), 1.2e9)
    assert found.settings == {"NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo"}
    assert found.verdict == "TCP over lo: RDMA is not used"


def test_a_log_over_infiniband():
    found = find_cause.read(RIGHT_LOG)
    assert found.ports == ("mlx5_0", "mlx5_2", "mlx5_4") and found.settings == {} and found.bandwidth is None
    assert found.verdict.startswith("RDMA over mlx5_0, mlx5_2, mlx5_4, no channel names GPUDirect")
    direct = "a:1:1 [0] NCCL INFO Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
    assert find_cause.read(RIGHT_LOG + direct).verdict == "RDMA over mlx5_0, mlx5_2, mlx5_4"


@pytest.mark.parametrize("text", ["", "step 1 loss 2.0", "a:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>"])
def test_a_log_that_names_no_network(text):
    with pytest.raises(ValueError, match="^log: no line of NCCL says `Using network`; allowed: .*NCCL_DEBUG=INFO"):
        find_cause.read(text)


# PyTorch on a processor

def snippets():
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "notebooks/find_cause.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_shows_the_calls_that_are_not_deprecated():
    assert "torch.cuda.amp" not in "".join(snippets()) and len(snippets()) == 2


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_the_loop_runs_on_a_processor(kind):
    pytest.importorskip("torch")
    names = {}
    for code in snippets():
        exec(code.replace("kind = torch.bfloat16", f"kind = torch.{kind}").replace(
            "num_workers=2", "num_workers=0").replace("prefetch_factor=2, persistent_workers=True", "prefetch_factor=None"), names)
    assert names["loss"].isfinite() and names["scaler"].is_enabled() == (kind == "float16")
