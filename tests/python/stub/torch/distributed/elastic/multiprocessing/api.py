"""The interface of torch 2.3 to 2.9 that a LogsSpecs has to it: the constructor's arguments, reify() and what that returns."""
import dataclasses
import os
import tempfile
from abc import ABC, abstractmethod


@dataclasses.dataclass
class LogsDest:
    """Files by local rank; of stdouts and stderrs "" is the terminal."""
    stdouts: dict
    stderrs: dict
    tee_stdouts: dict
    tee_stderrs: dict
    error_files: dict


class LogsSpecs(ABC):
    def __init__(self, log_dir=None, redirects=0, tee=0, local_ranks_filter=None):
        self._root_log_dir, self._redirects, self._tee, self._local_ranks_filter = log_dir, redirects, tee, local_ranks_filter

    @abstractmethod
    def reify(self, envs):
        """LogsDest for the workers with these environments."""

    @property
    @abstractmethod
    def root_log_dir(self):
        pass


class DefaultLogsSpecs(LogsSpecs):
    """LOG_DIR/RUN_ID_XXXXXXXX/attempt_N/LOCAL_RANK/stdout.log and stderr.log"""

    def __init__(self, log_dir=None, redirects=0, tee=0, local_ranks_filter=None):
        super().__init__(log_dir or tempfile.mkdtemp(prefix="torchelastic_"), redirects, tee, local_ranks_filter)
        self._run_log_dir = None

    @property
    def root_log_dir(self):
        return str(self._root_log_dir)

    def reify(self, envs):
        if not self._run_log_dir:
            os.makedirs(self._root_log_dir, exist_ok=True)
            self._run_log_dir = tempfile.mkdtemp(prefix=envs[0]["TORCHELASTIC_RUN_ID"] + "_", dir=self._root_log_dir)
        attempt = os.path.join(self._run_log_dir, "attempt_" + envs[0]["TORCHELASTIC_RESTART_COUNT"])
        dest = LogsDest(*({} for _ in range(5)))
        for rank, environment in envs.items():
            folder = os.path.join(attempt, str(rank))
            os.makedirs(folder)
            dest.stdouts[rank] = os.path.join(folder, "stdout.log") if self._redirects & 1 else ""
            dest.stderrs[rank] = os.path.join(folder, "stderr.log") if self._redirects & 2 else ""
            dest.error_files[rank] = environment["TORCHELASTIC_ERROR_FILE"] = os.path.join(folder, "error.json")
        return dest
