"""The daemon: a process that holds modules and models, and forks a child for each command it is handed.

`handover` is the side of the command line and imports next to nothing; `process` listens and forks; `request` is one
command in a child. `place` says where both meet, `environment` what of the caller's environment goes along.
"""
