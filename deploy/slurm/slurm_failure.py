"""The error of the programs for Slurm."""


class Failure(Exception):
    """One line for the log."""
