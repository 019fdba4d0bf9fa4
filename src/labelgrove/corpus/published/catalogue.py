"""The data sets of the papers behind our neural models.

Numbers of documents and labels are those of the papers' tables, of the authors' repositories and
of the extreme classification repository; LightAttention's paper has no experiments. No public
source that we know gives a checksum of any of these files, so that versions are told by their
numbers; a checksum that becomes known goes to `DataVersion.checksums`.
"""

from __future__ import annotations

from labelgrove.core.errors import UnknownNameError
from labelgrove.corpus.published.versions import DataPart, DataSet, DataVersion

REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"
DRIVE = "https://drive.google.com/open?id="
ARCHIVE = "https://archive.org/download/pecos-dataset/xmc-base/"
SGM = "https://drive.google.com/file/d/18-JOCIj9v5bZCrn9CIsk23W4wyhroCp_ (lancopku/SGM)"
WIKIPEDIA = "text of Wikipedia, CC BY-SA; the data set itself states none"
AMAZON = "none stated; product texts of Amazon, given out for research"
BOTH = ("attentionxml", "aplc-xlnet")


def _attentionxml(drive: str, train: int, test: int, *labels: int) -> DataVersion:
    """Return the files that the authors of AttentionXML give out; others use them too."""
    parts = tuple(
        DataPart(name, n, (f"{name}_raw_texts.txt", f"{name}_texts.txt"), (f"{name}_labels.txt",))
        for name, n in (("train", train), ("test", test))
    )
    url = f"{DRIVE}{drive} (yourh/AttentionXML)"
    return DataVersion("attentionxml", "lines", url, parts, labels)


def _pecos(name: str, train: int, test: int, *labels: int) -> DataVersion:
    """Return the files that the authors of PECOS give out, which have names of labels."""
    parts = tuple(
        DataPart(part, n, (f"X.{short}.txt",), (f"Y.{short}.npz",))
        for part, short, n in (("train", "trn", train), ("test", "tst", test))
    )
    url = f"{ARCHIVE}{name}.tar.gz"
    return DataVersion("pecos", "matrix", url, parts, labels, "output-items.txt")


def _repository(old: str, train: int, test: int, *labels: int) -> DataVersion:
    """Return the features of the extreme classification repository."""
    parts = tuple(
        DataPart(name, n, (f"{name}.txt", f"{old}_{name}.txt"))
        for name, n in (("train", train), ("test", test))
    )
    return DataVersion("repository", "features", REPOSITORY, parts, labels)


def _sgm(train: int, labels: int) -> DataVersion:
    """Return the files of Yang et al. 2018, which LACO uses."""
    parts = tuple(
        DataPart(name, n, (f"text_{short}",), (f"label_{short}",))
        for name, short, n in (("train", "train", train), ("valid", "val", 1000),
                               ("test", "test", 1000))
    )  # fmt: skip
    return DataVersion("sgm", "lines", SGM, parts, (labels,))


SETS = (
    DataSet(
        "eur-lex",
        "EUR-Lex, EURLex-4K: laws of the European Union with concepts of EuroVoc",
        (*BOTH, "treaderxml"),
        "none stated; documents of the European Union may be reused with their source named",
        (
            _attentionxml("1iPGbr5-z2LogtMFG1rwwekV_aTubvAb2", 15_449, 3_865, 3_956),
            _pecos("eurlex-4k", 15_449, 3_865, 3_956),
            _repository("eurlex", 15_539, 3_809, 3_993),
        ),
    ),
    DataSet(
        "wiki10-31k",
        "Wiki10-31K: articles of Wikipedia with the tags that users of Delicious gave them",
        BOTH,
        WIKIPEDIA,
        (
            _attentionxml("1Tv4MHQzDWTUC9hRFihRhG8_jt1h0VhnR", 14_146, 6_616, 30_938),
            _pecos("wiki10-31k", 14_146, 6_616, 30_938),
            _repository("wiki10", 14_146, 6_616, 30_938),
        ),
    ),
    DataSet(
        "amazoncat-13k",
        "AmazonCat-13K: products of Amazon with their categories",
        (*BOTH, "treaderxml"),
        AMAZON,
        (
            _attentionxml("1VwHAbri6y6oh8lkpZ6sSY_b1FRNnCLFL", 1_186_239, 306_782, 13_330),
            _pecos("amazoncat-13k", 1_186_239, 306_782, 13_330),
            _repository("amazonCat", 1_186_239, 306_782, 13_330),
        ),
    ),
    DataSet(
        "amazon-670k",
        "Amazon-670K: products of Amazon with products that are bought with them",
        BOTH,
        AMAZON,
        (
            _attentionxml("1Xd4BPFy1RPmE7MEXMu77E2_xWOhR1pHW", 490_449, 153_025, 670_091),
            _pecos("amazon-670k", 490_449, 153_025, 670_091),
            _repository("amazon", 490_449, 153_025, 670_091),
        ),
    ),
    DataSet(
        "wiki-500k",
        "Wiki-500K: articles of Wikipedia with their categories; not LF-Wikipedia-500K",
        BOTH,
        WIKIPEDIA,
        (
            _attentionxml(
                "1bGEcCagh8zaDV0ZNGsgF0QtwjcAm0Afk", 1_779_881, 769_421, 501_070, 501_008
            ),
            _pecos("wiki-500k", 1_779_881, 769_421, 501_070, 501_008),
        ),
    ),
    DataSet(
        "amazon-3m",
        "Amazon-3M: products of Amazon with products that are viewed with them",
        ("attentionxml",),
        AMAZON,
        (
            _attentionxml("187vt5vAkGI2mS2WOMZ2Qv48YKSjNbQv4", 1_717_899, 742_507, 2_812_281),
            _pecos("amazon-3m", 1_717_899, 742_507, 2_812_281),
        ),
    ),
    DataSet(
        "wikilshtc-325k",
        "WikiLSHTC-325K: articles of Wikipedia with their categories; features alone",
        (),
        WIKIPEDIA,
        (_repository("wikiLSHTC", 1_778_351, 587_084, 325_056),),
    ),
    DataSet(
        "wikilshtc",
        "Wikipedia medium of the challenge LSHTC3: articles with their categories",
        ("attentionxml",),
        WIKIPEDIA,
        (
            DataVersion(
                "lshtc3",
                "lshtc",
                "http://lshtc.iit.demokritos.gr",
                (
                    DataPart("train", 456_886, ("wikipediaMediumOriginalLSHTCv3-train.txt",)),
                    DataPart("test", 81_262, ("wikipediaMediumOriginalLSHTCv3-test.txt",)),
                ),
                (36_504,),
            ),
        ),
    ),
    DataSet(
        "rcv1",
        "RCV1-V2: news of Reuters with their topics",
        ("attentionxml", "treaderxml", "laco"),
        "texts by an agreement with NIST, not to be given away; lyrl2004's token files are free",
        (
            DataVersion(
                "lyrl2004",
                "rcv1",
                "https://trec.nist.gov/data/reuters/reuters.html (texts), "
                "http://www.jmlr.org/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm (topics)",
                (DataPart("train", 23_149), DataPart("test", 781_265)),
                (103,),
            ),
            _sgm(802_414, 103),
        ),
    ),
    DataSet(
        "aapd",
        "AAPD: abstracts of papers in computer science on arXiv with their subjects",
        ("laco",),
        "none stated; abstracts of arXiv belong to their authors",
        (_sgm(53_840, 54),),
    ),
)


def find_set(name: str) -> DataSet:
    """Return the data set of that name.

    Examples
    --------
    >>> [version.name for version in find_set("AAPD").versions]
    ['sgm']
    """
    known = {each.name: each for each in SETS}
    if name.lower() not in known:
        raise UnknownNameError("data set", name, known)
    return known[name.lower()]
