"""Kernels that start at once: forked from a process that has already imported what every notebook imports.

`multiprocessing` starts that process, which runs nothing else, and ends it with this one.
"""

import multiprocessing
import os
import sys
from contextlib import contextmanager
from multiprocessing import forkserver
from threading import Thread

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

IMPORTED = ["ipykernel.kernelapp", "numpy", "pandas", "altair", "sympy"]
FORK = multiprocessing.get_context("forkserver")


@contextmanager
def warm_kernels():
    """Gives the options of papermill that make it use such kernels; none of them outlives the block."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads is not safe to fork
    FORK.set_forkserver_preload(IMPORTED)
    forkserver.ensure_running()
    try:
        yield {"kernel_manager_class": WarmKernelManager}
    finally:
        for child in multiprocessing.active_children():
            if isinstance(child, Kernel):
                child.kill()


class WarmKernelManager(AsyncKernelManager):
    def __init__(self, **options):
        super().__init__(**options)
        self.provisioner = ForkProvisioner(kernel_spec=self.kernel_spec, parent=self)


class ForkProvisioner(LocalProvisioner):
    async def launch_kernel(self, cmd, *, cwd, env, **_):
        self.process = Kernel(target=serve, args=(cmd, cwd, env), daemon=True)
        self.process.start()
        self.pid = self.pgid = self.process.pid
        return self.connection_info


class Kernel(FORK.Process):
    """A process that goes by the names of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)


def serve(command, folder, environment):
    """Makes this process the kernel that the command would start."""
    from ipykernel.kernelapp import launch_new_instance

    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    Thread(target=end_with_parent, daemon=True).start()
    sys.argv = ["ipykernel_launcher", *command[command.index("-f") :]]
    launch_new_instance()


def end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)
