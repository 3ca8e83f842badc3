from loadstone.api import compare as compare
from loadstone.api import diagnose as diagnose
from loadstone.api import experiment as experiment
from loadstone.api import prove as prove
from loadstone.api import run as run
from loadstone.model.errors import LoadstoneError as LoadstoneError
from loadstone.report.opened import Run as Run
from loadstone.report.opened import open_run as open_run

__version__: str
