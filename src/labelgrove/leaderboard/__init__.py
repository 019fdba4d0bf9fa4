"""Many models trained and scored on the same data under a budget of time: `leaderboard`."""

from labelgrove.leaderboard.entrants import Entrant, registered
from labelgrove.leaderboard.files import DataFiles
from labelgrove.leaderboard.joining import join
from labelgrove.leaderboard.published import papers
from labelgrove.leaderboard.run import leaderboard
from labelgrove.leaderboard.standings import Leaderboard

__all__ = ["DataFiles", "Entrant", "Leaderboard", "join", "leaderboard", "papers", "registered"]
