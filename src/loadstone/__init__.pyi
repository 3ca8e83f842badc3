from loadstone.report.opened import Run as Run
from loadstone.report.opened import open_run as open_run

__version__: str
