"""The exceptions of lifeguard."""


class InvalidInput(ValueError):
    """A caller's mistake: `field`, its `value` and the `rule` that it breaks.

    "mass_kilograms = -1: must be finite and greater than 0"
    """

    def __init__(self, field: str, value: str, rule: str):
        super().__init__(field, value, rule)
        self.field = field
        self.value = value
        self.rule = rule

    def __str__(self):
        return f"{self.field} = {self.value}: {self.rule}"


class RunFileError(RuntimeError):
    """A run file that cannot be read or written: from another program, too new, disk full."""


class NotARunFile(RunFileError):
    """What was named as a run file is not there or is something else."""


class RunFileBusy(RunFileError):
    """Another process holds the run file; it may be free again soon."""


class RunFileExists(RunFileError):
    """The file that was to be made is there already."""


class DamagedRunFile(RunFileError):
    """A run file whose content is not what a run leaves behind."""
