"""The steps of a batch as blocks of datatrove, for its executors: this machine, Slurm or Ray."""
