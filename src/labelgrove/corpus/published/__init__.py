"""Published data sets: what there is, where it comes from, and how its files become ours."""

from labelgrove.corpus.published.catalogue import SETS, find_set
from labelgrove.corpus.published.convert import Converted, convert
from labelgrove.corpus.published.versions import DataPart, DataSet, DataVersion

__all__ = ["SETS", "Converted", "DataPart", "DataSet", "DataVersion", "convert", "find_set"]
