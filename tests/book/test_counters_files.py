"""Files of counters: every tool's format, columns in any order, and broken files, each with a message that names the place."""
import math
import os

import pytest

from book.pages import utilization as own_counters
from book.pages.utilization import read_counters

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
    "zero byte": ("\n\0", "mine.csv, row 2: a zero byte"),
    "wrong separator": ("timestamp^index^utilization.gpu\n1^0^3\n", r"row 1: no column of a counter in 'timestamp\^index\^utilization.gpu'"),
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
    from book.pages.utilization import shares_table, verdicts
    from book.pages import utilization as own_counters
    text = "timestamp, index, name, utilization.gpu [%]\n" + "".join(
        f"{1795420800 + step}, <img src=x onerror=alert(1)>, <script>alert(1)</script>, 3 %\n" for step in range(40))
    found = read(tmp_path, text)
    with pytest.raises(ValueError, match="the file calls it '<script>"):
        own_counters.cards_of(found, None)
    report = own_counters.report(found, own_counters.cards_of(found, "L4 24GB"), {"L4 24GB": 1.0}, 0.01)
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


# Columns and cells by themselves

@pytest.mark.parametrize("counter, written, value", [
    ("gpu_util", "50", 0.5), ("gpu_util", "50 %", 0.5), ("memory_util", "7", 0.07), ("sm_activity", "0.5", 0.5), ("sm_occupancy", "50%", 0.5), ("tensor_activity", "50 GPM:%", 0.5),
    ("dram_activity", "1", 1), ("board_watts", "700", 700), ("board_watts", "700 W", 700), ("board_watts", "2500 mW", 2.5), ("board_watts", "0.7 kW", 700), ("limit_watts", "700", 700),
    ("limit_watts", "7 W", 7), ("limit_watts", "0.7 kW", 700), ("used_bytes", "3", 3 * 1_048_576), ("used_bytes", "3 MiB", 3_145_728), ("used_bytes", "1 GiB", 1_073_741_824),
    ("used_bytes", "3 MB", 3_145_728), ("used_bytes", "5 B", 5), ("used_bytes", "2 KiB", 2048), ("sm_clock", "1800", 1.8e9), ("sm_clock", "1800 MHz", 1.8e9), ("sm_clock", "1.8 GHz", 1.8e9)])
def test_a_counter_in_each_of_its_units(counter, written, value):
    cells = own_counters.Cells("mine.csv")
    assert cells.number(2, "x", counter, "", written) == pytest.approx(value, rel=1e-12)
    number, _, unit = written.partition(" ")
    assert not unit or cells.number(2, "y", counter, unit.lower(), number) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("counter, most, above, allowed", [
    ("gpu_util", "100", "101", "from 0 to 100 %"), ("sm_activity", "1", "1.01", "from 0 to 1, or to 100 with the unit %"), ("sm_activity", "100 %", "101 %", "from 0 to 1, or to 100 with the unit %"),
    ("board_watts", "1e4", "10001", "from 0 to 10000 W"), ("used_bytes", "1e13 B", "1.01e13 B", "from 0 to 10 TB"), ("sm_clock", "10 GHz", "10.1 GHz", "from 0 to 10 GHz")])
def test_a_counter_has_a_least_and_a_most(counter, most, above, allowed):
    cells = own_counters.Cells("mine.csv")
    assert cells.number(2, most, counter, "", most) > cells.number(2, most, counter, "", f"0 {most.partition(' ')[2]}".strip()) == 0
    for wrong in (above, f"-1 {most.partition(' ')[2]}".strip()):
        with pytest.raises(ValueError) as error:
            cells.number(7, "my column", counter, "", wrong)
        assert str(error.value) == f"mine.csv, row 7, column my column: {wrong!r}; allowed: {allowed}"
        cells.units.clear()


@pytest.mark.parametrize("text", ["", "-", "N/A", "[N/A]", "nan", "[Not Supported]", "[Unknown Error]", "[Insufficient Permissions]", "[GPU requires reset]", "null", "ERR!",
                                  "2147483632", "2147483648", "140737488355328", "140737488355344", "9223372036854775792", "9223372036854775808"])
def test_what_says_that_there_is_no_value(text):
    """DCGM's blanks are 16 numbers below 2^31 and 2^63, and from 2^47 on."""
    assert math.isnan(own_counters.Cells("mine.csv").number(2, "x", "used_bytes", "b", text))


@pytest.mark.parametrize("text", ["2147483631", "2147483649"])
def test_numbers_beside_dcgms_blanks_are_numbers(text):
    assert own_counters.Cells("mine.csv").number(2, "x", "used_bytes", "b", text) == int(text)


def test_a_unit_of_the_head_and_of_the_cell_are_one():
    cells = own_counters.Cells("mine.csv")
    assert cells.number(2, "memory", "used_bytes", "mib", "3 MiB") == 3_145_728 and cells.number(3, "memory", "used_bytes", "mib", "4 MiB") == 4_194_304
    with pytest.raises(ValueError, match=r"^mine.csv, row 4, column memory: '5 GiB'; allowed: one unit in a column: row 2 has mib$"):
        cells.number(4, "memory", "used_bytes", "mib", "5 GiB")
    with pytest.raises(ValueError, match=r"^mine.csv, row 2, column m: '5 GiB'; allowed: the unit MiB$"):
        cells.number(2, "m", "used_bytes", "mib", "5 GiB")
    with pytest.raises(ValueError, match=r"^mine.csv, row 2, column w: '5 \[j\]'; allowed: the unit W, mW, kW$"):
        cells.number(2, "w", "board_watts", "j", "5")


@pytest.mark.parametrize("text, slowed", [
    *((hex(bit), 1) for bit in (0x4, 0x8, 0x20, 0x40, 0x80, 0x84)), *((hex(bit), 0) for bit in (0, 1, 2, 0x10, 0x100)), ("0x7fffffef", 1), ("4", 1), ("8.0", 1), ("3", 0), ("Not Active", 0),
    ("none", None), ("-4", None), ("0x7ffffff4", None), ("2147483632", None), ("N/A", None)])
def test_bits_that_slow_a_clock(text, slowed):
    """Power cap 0x4, slowdown 0x8, heat 0x20 and 0x40, power brake 0x80; not idle 0x1, a user's clock 0x2, sync boost 0x10, a display's 0x100."""
    found = own_counters.Cells("mine.csv").mask(2, "reasons", text)
    assert math.isnan(found) if slowed is None else found == slowed


def test_a_mask_that_is_none_is_refused():
    with pytest.raises(ValueError, match="^mine.csv, row 2, column reasons: 'hot'; allowed: a mask such as 0x0000000000000004, or N/A$"):
        own_counters.Cells("mine.csv").mask(2, "reasons", "hot")


@pytest.mark.parametrize("text, seconds", [
    ("100000000", 1e8), ("1795420800.5", 1795420800.5), ("99999999999", 99999999999), ("100000000000", 1e8), ("1795420800123", 1795420800.123), ("0:00:01", 1), ("23:59:59", 86399), ("01:02:03", 3723),
    ("1990-01-01T00:00:00Z", 631152000), ("1990/01/02 00:00:00", 631238400), ("19900101 00:01:00", 631152060), ("01/02/1990 00:00:00", 633830400), ("2200-12-31", 7289568000), ('"1990-01-01" ', 631152000)])
def test_times_as_seconds(text, seconds):
    assert own_counters.Cells("mine.csv").time(2, "time", text) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("text", ["", "24:00:00", "23:60:00", "23:59:60", "1989-12-31", "2201-01-01", "12345678", "12345678901234", "noon"])
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="^mine.csv, row 2, column time: .*; allowed: a time such as 2026/11/23 06:17:26.305"):
        own_counters.Cells("mine.csv").time(2, "time", text)


@pytest.mark.parametrize("head, name, held", [
    ("utilization.gpu [%]", ("utilization_gpu", "%"), "gpu_util"), ("DCGM_FI_DEV_GPU_UTIL", ("gpu_util", ""), "gpu_util"), ("DCGM_FI_PROF_SM_ACTIVE", ("sm_active", ""), "sm_activity"),
    (" power.draw (W) ", ("power_draw", "w"), "board_watts"), ("SMOCC", ("smocc", ""), "sm_occupancy"), ("TENSO", ("tenso", ""), "tensor_activity"), ("DRAMA", ("drama", ""), "dram_activity"),
    ("enforced.power.limit [W]", ("enforced_power_limit", "w"), "limit_watts"), ("FBUSD [MB]", ("fbusd", "mb"), "used_bytes"), ("clocks.current.graphics [MHz]", ("clocks_current_graphics", "mhz"), "sm_clock"),
    ("nvidia_smi_utilization_memory", ("nvidia_smi_utilization_memory", ""), "memory_util"), ("UUID", ("uuid", ""), "uuid"), ("__name__", ("__name__", ""), "metric"), ("Hostname", ("hostname", ""), "host"),
    ("modelName", ("modelname", ""), "name"), ("GPU-ID", ("gpu_id", ""), "gpu"), ("Value", ("value", ""), "value"), ("timestamp", ("timestamp", ""), "time"), ("Date/Time", ("date_time", ""), "time"),
    ("clocks_event_reasons.active", ("clocks_event_reasons_active", ""), "reasons"), ("temperature.gpu", ("temperature_gpu", ""), None)])
def test_what_a_column_is(head, name, held):
    assert own_counters.plain(head) == name and own_counters.kind(name[0]) == held


def test_files_have_a_most_of_bytes_rows_and_gpus(tmp_path, monkeypatch):
    large = tmp_path / "large.csv"
    large.touch()
    os.truncate(large, 100_000_001)
    with pytest.raises(ValueError, match="more than 100,000,000 bytes"):
        read_counters(large)
    with pytest.raises(ValueError, match="^mine.csv: 1,000,001 rows; allowed: at most 1,000,000$"):
        read(tmp_path, " \n" * 1_000_000 + "x")
    assert own_counters._MOST_GPUS == 256 and len(read(tmp_path, f"{HEAD}\n" + "".join(f"1795420800, {gpu}, 3 %\n" for gpu in range(256))).samples) == 256
    with pytest.raises(ValueError, match="^mine.csv: 257 GPUs; allowed: at most 256$"):
        read(tmp_path, f"{HEAD}\n" + "".join(f"1795420800, {gpu}, 3 %\n" for gpu in range(257)))


def test_what_tells_gpus_apart(tmp_path):
    """Host and number, else the UUID, else the only one; samples stand in the order of time, then of GPUs."""
    def names(head, *rows):
        return read(tmp_path, "\n".join([f"timestamp,{head},utilization.gpu", *rows]) + "\n").samples["gpu"].tolist()
    assert names("host,gpu,uuid", "1795420801,b,GPU 1,U1,5", "1795420800,b,1,U1,5", "1795420800,a,0,U2,5") == ["a/0", "b/1", "b/1"]
    assert names("gpu,uuid", "1795420800,N/A,U1,5", "1795420800,,U0,5") == ["U0", "U1"] and names("name", "1795420800,L4,5") == ["0"]
    assert names("uuid", "1795420800,U7,5") == ["U7"]


def test_midnight_is_a_clock_that_runs_back_by_half_a_day(tmp_path):
    def seconds(*times):
        return read(tmp_path, "#Time gpu sm\n#HH:MM:SS Idx %\n" + "".join(f"{time} 0 9\n" for time in times)).samples["seconds"].tolist()
    assert seconds("12:00:01", "00:00:00") == [43201, 86400] and seconds("12:00:00", "00:00:00") == [0, 43200]
    assert seconds("23:59:59", "00:00:01", "23:59:58", "00:00:02") == [86399, 86401, 172798, 172802]
