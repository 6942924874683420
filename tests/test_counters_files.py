"""Files of counters: every tool's format, columns in any order, and broken files, each with a message that names the place."""
import math

import pytest

from gpucalc.rows.counters import read_counters

HEAD = "timestamp, index, utilization.gpu [%]"


def read(tmp_path, text, seconds=1.0, name="mine.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_counters(path, seconds)


# What is read

SMI = """timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W], clocks.sm [MHz], temperature.gpu
2026/11/23 06:17:26.305, 0, NVIDIA L4, 50 %, 1024 MiB, 70.50 W, 1800 MHz, 35
2026/11/23 06:18:26.305, 0, NVIDIA L4, [N/A], 2048 MiB, [Not Supported], 1800 MHz, 36
"""


def test_nvidia_smi_with_units(tmp_path):
    found = read(tmp_path, SMI)
    assert found.tool == "nvidia-smi --query-gpu" and found.timed and found.notes == []
    samples = found.samples
    assert samples["gpu_util"].iloc[0] == 0.5 and math.isnan(samples["gpu_util"].iloc[1])
    assert samples["used_bytes"].tolist() == [2**30, 2**31] and samples["board_watts"].iloc[0] == 70.5
    assert samples["sm_clock"].tolist() == [1.8e9] * 2 and samples["seconds"].diff().iloc[1] == 60
    assert "temperature.gpu" not in samples and samples["name"].tolist() == ["NVIDIA L4"] * 2


def test_columns_in_any_order_without_units_in_cells_and_with_a_byte_order_mark(tmp_path):
    plain = SMI.replace(" %,", ",").replace(" MiB", "").replace(" W,", ",").replace(" MHz", "")
    plain = plain.replace("memory.used,", "memory.used [MiB],")
    rows = [line.split(", ") for line in plain.replace(", 35", "").replace(", 36", "").replace(", temperature.gpu", "").splitlines()]
    turned = "\ufeff" + "\r\n".join(",".join(reversed(row)) for row in rows)
    assert read(tmp_path, turned).samples.equals(read(tmp_path, SMI).samples)


@pytest.mark.parametrize("time", ["2026/11/23 06:17:26.305", "2026-11-23T06:17:26.305Z", "2026-11-23 06:17:26.305",
                                  "2026-11-23T07:17:26.305+01:00", "1795414646305", "1795414646.305", "2026-11-23 06:17:26,305"])
def test_forms_of_time(tmp_path, time):
    text = f'timestamp;index;utilization.gpu [%]\n"{time}";0;3\n'
    assert read(tmp_path, text).samples["seconds"].tolist() == [pytest.approx(1795414646.305, abs=1e-3)]


def test_dmon_of_nvidia_smi(tmp_path):
    head = "# gpu    pwr  gtemp     sm    mem   mclk   pclk\n# Idx      W      C      %      %    MHz    MHz\n"
    found = read(tmp_path, f"{head}    0    164     87    100     85   7501   1777\n{head}    0      -     87     99     87   7501   1785\n", 2)
    assert found.tool == "nvidia-smi dmon" and not found.timed and found.samples["seconds"].tolist() == [0, 2]
    assert found.samples["gpu_util"].tolist() == [1, 0.99] and math.isnan(found.samples["board_watts"].iloc[1])


def test_dmon_with_times_runs_past_midnight(tmp_path):
    text = ("#Time        gpu     sm     smutil       dram\n#HH:MM:SS    Idx      %      GPM:%      GPM:%\n"
            " 23:59:50      0      2          9          3\n 00:00:10      0      4         11         50\n")
    samples = read(tmp_path, text).samples
    assert samples["seconds"].diff().iloc[1] == 20 and samples["sm_activity"].tolist() == pytest.approx([0.09, 0.11])
    assert samples["dram_activity"].tolist() == pytest.approx([0.03, 0.5])
    dated = text.replace("#Time   ", "#Date Time").replace("#HH:MM:SS", "#YYYYMMDD HH:MM:SS").replace(" 23:", " 20261123 23:").replace(
        " 00:00:1", " 20261124 00:00:1")
    assert read(tmp_path, dated).samples["seconds"].diff().iloc[1] == 20


def test_dmon_of_dcgmi_as_nvidia_prints_it(tmp_path):
    # NVIDIA DCGM user guide, feature overview; a blank is N/A.
    text = """# Entity  GRACT  TENSO  DRAMA
      Id
    GPU 0  0.000  0.000  0.000
    GPU 0  0.552  0.527  N/A
    GPU 1  0.969  0.928  0.000
"""
    found = read(tmp_path, text, 10)
    assert found.tool == "dcgmi dmon" and found.samples["gpu"].tolist() == ["0", "1", "0"]
    assert found.samples["tensor_activity"].tolist() == [0, 0.928, 0.527] and found.samples["seconds"].tolist() == [0, 0, 10]


EXPOSED = """# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-604",modelName="NVIDIA L4",Hostname="n1"} 98 1795420800000
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-604",modelName="NVIDIA L4",Hostname="n1"} 0.61 1795420800000
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-604",modelName="NVIDIA L4",Hostname="n1"} 9223372036854775794 1795420800000
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-604",modelName="NVIDIA L4",Hostname="n1"} 40 1795420800000
"""


def test_the_text_of_dcgm_exporter(tmp_path):
    samples = read(tmp_path, EXPOSED).samples
    assert samples[["gpu", "name"]].values.tolist() == [["n1/0", "NVIDIA L4"]]
    assert samples["gpu_util"].tolist() == [0.98] and samples["dram_activity"].tolist() == [0.61]
    assert samples["used_bytes"].isna().all(), "DCGM writes this number where it has none"


def test_a_row_for_each_metric_and_the_newer_names(tmp_path):
    text = ("time,metric,gpu,value\n1795420800,DCGM_FI_PROF_SM_UTIL_RATIO,0,0.5\n1795420800,DCGM_FI_PROF_TENSOR_UTIL_RATIO,0,0.25\n"
            "1795420860,DCGM_FI_PROF_SM_UTIL_RATIO,0,0.75\n")
    samples = read(tmp_path, text).samples
    assert samples["sm_activity"].tolist() == [0.5, 0.75] and samples["tensor_activity"].iloc[0] == 0.25


def test_reasons_of_a_low_clock(tmp_path):
    text = (f"{HEAD}, clocks_event_reasons.active\n2026/11/23 06:17:26, 0, 9 %, 0x0000000000000004\n"
            "2026/11/23 06:17:27, 0, 9 %, 0x0000000000000001\n2026/11/23 06:17:28, 0, 9 %, Not Active\n")
    assert read(tmp_path, text).samples["slowed"].tolist() == [1, 0, 0], "a power cap slows, rest does not"


def test_a_line_that_was_cut_off_is_left_out_and_said(tmp_path):
    found = read(tmp_path, SMI + "2026/11/23 06:19:26.305, 0, NVIDI")
    assert len(found.samples) == 2 and found.notes == ["The last line, row 4, is cut off and was left out."]


def test_the_same_header_again_is_another_run(tmp_path):
    head, first, _ = SMI.splitlines()
    found = read(tmp_path, "\n".join([head, first, head, first.replace("06:17", "07:17")]) + "\n")
    assert len(found.samples) == 2 and found.notes == ["The header is there 2 times: the file holds 2 runs of the tool."]


# What is refused, and where the message points

ROW = "2026/11/23 06:17:26, 0, 3 %"
BROKEN = {
    "empty": ("", "mine.csv: no text; allowed: what nvidia-smi"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00", "mine.csv, row 1: byte 0x89; allowed: UTF-8 text"),
    "zero byte": ("timestamp\n\0", "mine.csv, row 2: a zero byte"),
    "wrong separator": ("timestamp|index|utilization.gpu\n1|0|3\n", r"row 1: 'timestamp\|index\|utilization.gpu' has no comma; allowed: a header"),
    "no time": ("index, utilization.gpu [%]\n0, 3 %\n", "row 1: no column of the time; allowed: one called timestamp"),
    "no activity": ("timestamp, index, power.draw [W]\n1795420800, 0, 3 W\n", "no column says whether a GPU works; allowed: .*utilization.gpu"),
    "no counter": ("timestamp, foo\n1, 2\n", "row 1: no column of a counter in 'timestamp, foo'"),
    "not a time": (f"{HEAD}\nyesterday, 0, 3 %\n", "row 2, column timestamp: 'yesterday'; allowed: a time such as"),
    "two headers": (f"{HEAD}\n{ROW}\ntimestamp, index, power.draw [W]\n", "row 3: a second header, 'timestamp,index,power.draw"),
    "mixed units": (f"{HEAD}\n{ROW}\n2026/11/23 06:17:27, 0, 3\n", r"row 3, column utilization.gpu \[%\]: '3'; allowed: one unit in a column: row 2"),
    "another unit": (f"{HEAD}\n2026/11/23 06:17:27, 0, 3 W\n", r"row 2, column utilization.gpu \[%\]: '3 W'; allowed: the unit %"),
    "numbers nowhere": (f"{HEAD}\n2026/11/23 06:17:26, 0, N/A\n2026/11/23 06:17:27, 0, nan\n",
                        r"rows 2 to 3, column utilization.gpu \[%\]: no number"),
    "negative": (f"{HEAD}\n2026/11/23 06:17:26, 0, -3 %\n", r"row 2, column utilization.gpu \[%\]: '-3 %'; allowed: from 0 to 100 %"),
    "above all": (f"{HEAD}\n2026/11/23 06:17:26, 0, 130 %\n", r"'130 %'; allowed: from 0 to 100 %"),
    "a percentage as a share": ("timestamp,gpu,DCGM_FI_PROF_SM_ACTIVE\n1795420800,0,45\n", "'45'; allowed: from 0 to 1, or to 100 with the unit %"),
    "huge": (f"{HEAD}, power.draw [W]\n{ROW}, 1e99 W\n", r"row 2, column power.draw \[W\]: '1e99 W'; allowed: from 0 to 10000 W"),
    "not a number": (f"{HEAD}\n2026/11/23 06:17:26, 0, much\n", "'much'; allowed: a number from 0 to 100 %, or N/A"),
    "a cell short": (f"{HEAD}\n2026/11/23 06:17:26, 0\n{ROW}\n", "row 2: 2 cells; allowed: 3, as in the header"),
    "a quote open": (f'{HEAD}\n"2026/11/23 06:17:26, 0, 3 %\n', "row 2: .*quoted where needed"),
    "two of one time": (f"{HEAD}\n{ROW}\n{ROW}\n", "row 3: GPU 0 has two samples of one time"),
    "hidden text": ("timestamp, index, name, utilization.gpu [%]\n1795420800, 0, a\u202eb, 3 %\n", r"column name: 'a<U\+202E>b'|column name: 'a"),
    "twice": (f"{HEAD}, utilization.gpu [%]\n{ROW}, 3 %\n", r"row 1, column utilization.gpu \[%\]: there twice"),
    "header alone": (f"{HEAD}\n", "row 1: no samples below the header"),
    "no value of Prometheus": ('DCGM_FI_DEV_GPU_UTIL{gpu="0"} 98\n', "row 1: .*has no time; allowed: the time in milliseconds"),
    "not Prometheus": (EXPOSED + "nonsense\n", "row 6: 'nonsense'; allowed: a metric such as"),
    "dmon short": ("# gpu    sm\n# Idx     %\n    0\n    0     3\n", "row 3: 1 cells; allowed: 2"),
    "dmon without header": ("# nothing\n    0     3\n", "row 1: '# nothing' is no header"),
    "a long line": (f"{HEAD}\n{'x' * 200_000}\n", "row 2: 200,000 characters; allowed: at most 100,000"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_refused_with_its_place(tmp_path, fault):
    text, said = BROKEN[fault]
    with pytest.raises(ValueError, match=said) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith("mine.csv") and "allowed" in str(caught.value) and len(str(caught.value)) < 600


def test_a_gpu_named_by_markup_is_text(tmp_path):
    from gpucalc.page.counters import shares_table, verdicts
    from gpucalc.plan import counters as plan
    text = "timestamp, index, name, utilization.gpu [%]\n" + "".join(
        f"{1795420800 + step}, <img src=x onerror=alert(1)>, <script>alert(1)</script>, 3 %\n" for step in range(40))
    found = read(tmp_path, text)
    with pytest.raises(ValueError, match="the file calls it '<script>"):
        plan.cards_of(found, None)
    report = plan.report(found, plan.cards_of(found, "L4 24GB"), {"L4 24GB": 1.0}, 0.01)
    assert "<img" not in shares_table(report, "x")._repr_html_() and "&lt;img" in shares_table(report, "x")._repr_html_()
    assert "<img" not in verdicts(report)._repr_markdown_().replace("\\<img", "")


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_a_time_between_samples_that_is_none_is_refused(tmp_path, seconds):
    with pytest.raises(ValueError, match=f"parameter sample_seconds: {seconds}; allowed: a number above 0"):
        read(tmp_path, SMI, seconds)


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not a regular file"):
        read_counters(tmp_path)


def test_what_powershell_writes_is_read(tmp_path):
    for code in ("utf-16", "utf-16-be"):
        held = SMI.replace("\n", "\r\n") if code == "utf-16" else "\ufeff" + SMI
        assert read(tmp_path, held.encode(code)).samples.equals(read(tmp_path, SMI).samples)
    with pytest.raises(ValueError, match="row 1: byte 0xff; allowed: UTF-8 text"):
        read(tmp_path, SMI.encode("utf-16")[:-1])


def test_a_unit_that_is_none_is_answered_as_people_write_it(tmp_path):
    with pytest.raises(ValueError, match=r"row 2, column memory.used \[MiB\]: '1024 %'; allowed: the unit MiB"):
        read(tmp_path, SMI.replace("1024 MiB", "1024 %"))


def test_a_decimal_comma_is_refused_with_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"row 2, column power.draw \[W\]: '70,50 W'; allowed: a number with a decimal point"):
        read(tmp_path, SMI.replace(", ", ";").replace("70.50", "70,50"))
