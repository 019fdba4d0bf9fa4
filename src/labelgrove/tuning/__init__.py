"""The search for settings: `tune` tries them on held-out documents; needs the extra ``tune``."""

from labelgrove.tuning.metric import Metric
from labelgrove.tuning.outcome import Search, Trial
from labelgrove.tuning.pool import TrialHosts
from labelgrove.tuning.search import tune
from labelgrove.tuning.space import Space

__all__ = ["Metric", "Search", "Space", "Trial", "TrialHosts", "tune"]
