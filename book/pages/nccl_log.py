"""What a log of NCCL says of a network: who carries the data, over which interfaces, and which settings somebody made."""
import re
from typing import NamedTuple

_INFO = re.compile(r"NCCL INFO (.*)")
_USING = re.compile(r"Using network (\S+)")
_PORTS = re.compile(r"NET/(?:IB|Socket) : Using (.*)")
_PORT = re.compile(r"\[\d+\]([^\s:;]+):")
_SET = re.compile(r"(NCCL_\w+) set by environment to (\S+?)\.?$")
_BANDWIDTH = re.compile(r"=== System : maxBw (\d+(?:\.\d+)?)")


class Network(NamedTuple):
    """What a log says: `network` as it names it, `ports`, `settings`, GPUDirect, and the rate that NCCL counts on (bytes/s)."""

    network: str
    ports: tuple[str, ...]
    settings: dict[str, str]
    gpu_direct: bool
    bandwidth: float | None

    @property
    def verdict(self) -> str:
        """One line for somebody who reads such a log for the first time."""
        if self.network == "Socket":
            return f"TCP over {', '.join(self.ports)}: RDMA is not used"
        return f"RDMA over {', '.join(self.ports)}" + ("" if self.gpu_direct else ", no channel names GPUDirect in these lines")


def read(text: str) -> Network:
    """The first network that a log names. Raises ValueError where it names none: was NCCL_DEBUG=INFO set?"""
    lines = [found[1].strip() for found in map(_INFO.search, text.splitlines()) if found]
    networks = [found[1] for found in map(_USING.search, lines) if found]
    if not networks:
        raise ValueError("log: no line of NCCL says `Using network`; allowed: what a job writes with NCCL_DEBUG=INFO")
    ports = dict.fromkeys(port for found in map(_PORTS.search, lines) if found
                          for port in _PORT.findall(found[1].split("OOB")[0]))
    rates = [float(found[1]) for found in map(_BANDWIDTH.search, lines) if found]
    return Network(networks[0], tuple(ports), {found[1]: found[2] for found in map(_SET.search, lines) if found},
                   any("GDRDMA" in line for line in lines), rates[0] * 1e9 if rates else None)
