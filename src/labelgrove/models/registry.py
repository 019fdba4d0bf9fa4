"""The table of models, strings only: listing them imports none."""

from __future__ import annotations

from typing import Any

from labelgrove.core.estimator import Classifier
from labelgrove.core.registry import Entry, Registry

MODELS: Registry[Classifier] = Registry(
    "model",
    {
        "grove": Entry(
            "labelgrove.models.grove.grove:Grove",
            "start here: several models name candidates, a learned ranker judges them",
            "after Wolpert 1992",
        ),
        "bonsai": Entry(
            "labelgrove.models.linear.bonsai:Bonsai",
            "linear classifiers down a shallow, wide label tree: fast and small",
            "Khandagale et al. 2020",
        ),
        "parabel": Entry(
            "labelgrove.models.linear.parabel:Parabel",
            "linear classifiers down balanced binary label trees",
            "Prabhu et al. 2018",
        ),
        "one-vs-rest": Entry(
            "labelgrove.models.linear.one_vs_rest:OneVsRest",
            "a linear classifier for every label, no tree: slow where labels are many",
            "Babbar and Schölkopf 2017",
        ),
        "classifier-chain": Entry(
            "labelgrove.models.linear.classifier_chain:ClassifierChain",
            "a chain of classifiers, each also sees the labels before it: up to a few thousand",
            "Read et al. 2011",
        ),
        "label-powerset": Entry(
            "labelgrove.models.linear.label_powerset:LabelPowerset",
            "a classifier for each set of labels that documents have, or of random sets (RAkEL)",
            "Read 2008; Tsoumakas and Vlahavas 2007",
        ),
        "pd-sparse": Entry(
            "labelgrove.models.linear.pd_sparse:PdSparse",
            "linear scores with a margin between labels, few weights and few dual variables",
            "Yen et al. 2016",
        ),
        "fastxml": Entry(
            "labelgrove.models.forests.fastxml:FastXml",
            "trees over documents, each node a sparse linear separator: no label tree",
            "Prabhu and Varma 2014",
        ),
        "pfastrexml": Entry(
            "labelgrove.models.forests.pfastrexml:PfastreXml",
            "the same for rare labels, re-ranked by the middle of each label's documents",
            "Jain et al. 2016",
        ),
        "annexml": Entry(
            "labelgrove.models.embeddings.annexml:AnnexMl",
            "embeds documents with like labels near each other: labels of the nearest ones",
            "Tagami 2017",
        ),
        "sleec": Entry(
            "labelgrove.models.embeddings.sleec:Sleec",
            "linear maps to a space that keeps neighbours by labels: labels of the nearest ones",
            "Bhatia et al. 2015",
        ),
        "fasttext": Entry(
            "labelgrove.models.fasttext:FastText",
            "the mean of word vectors and a linear output, learned together in seconds",
            "Joulin et al. 2017",
        ),
        "attentionxml": Entry(
            "labelgrove.models.neural.attention_xml:AttentionXml",
            "a recurrent network that reads the text anew for every label; many by a label tree",
            "You et al. 2019",
            "neural",
        ),
        "lightattention": Entry(
            "labelgrove.models.neural.light_attention:LightAttention",
            "AttentionXML's reading for labels that a generator picks, anew at every step",
            "Zhu, Teng and Huang",
            "neural",
        ),
        "xml-rnn": Entry(
            "labelgrove.models.neural.xml_rnn:XmlRnn",
            "one recurrent reading of the text for all labels: AttentionXML's baseline",
            "You et al. 2018",
            "neural",
        ),
        "xml-cnn": Entry(
            "labelgrove.models.neural.xml_cnn:XmlCnn",
            "one convolutional reading of the text for all labels",
            "Liu et al. 2017",
            "neural",
        ),
        "kim-cnn": Entry(
            "labelgrove.models.neural.kim_cnn:KimCnn",
            "the largest value of each filter over the words, a linear layer: the simplest network",
            "Kim 2014",
            "neural",
        ),
        "lsan": Entry(
            "labelgrove.models.neural.lsan:Lsan",
            "each label reads the text by an attention of its own and by its name",
            "Xiao et al. 2019",
            "neural",
        ),
        "leam": Entry(
            "labelgrove.models.neural.leam:Leam",
            "words and labels in one space: the words most like any label make the text's vector",
            "Wang et al. 2018",
            "neural",
        ),
        "cornet": Entry(
            "labelgrove.models.neural.cornet:CorNet",
            "xml-cnn with blocks behind it that learn how labels go together",
            "Xun et al. 2020",
            "neural",
        ),
        "ml-reasoner": Entry(
            "labelgrove.models.neural.ml_reasoner:MlReasoner",
            "judges all labels in rounds: each knows the probabilities of the round before",
            "Wang et al. 2021",
            "neural",
        ),
        "transformer": Entry(
            "labelgrove.models.neural.transformer:Transformer",
            "any pretrained transformer with a linear layer to all labels",
            "Devlin et al. 2019",
            "transformers",
        ),
        "lightxml": Entry(
            "labelgrove.models.neural.light_xml:LightXml",
            "any pretrained transformer, for labels that a generator picks, anew at every step",
            "Jiang et al. 2021",
            "transformers",
        ),
        "xr-transformer": Entry(
            "labelgrove.models.neural.xr_transformer:XrTransformer",
            "an encoder learns from coarse clusters to labels, then ranks beside tf-idf in bonsai",
            "Zhang et al. 2021",
            "transformers",
        ),
        "aplc-xlnet": Entry(
            "labelgrove.models.neural.aplc_xlnet:AplcXlnet",
            "any pretrained transformer, rare labels in clusters behind gates",
            "Ye et al. 2020",
            "transformers",
        ),
        "laco": Entry(
            "labelgrove.models.neural.laco:Laco",
            "text and labels read together by a transformer; re-ranks where labels are many",
            "Zhang et al. 2021",
            "transformers",
        ),
        "laco-plcp": Entry(
            "labelgrove.models.neural.laco:LacoPlcp",
            "the same, also told which pairs of labels occur together",
            "Zhang et al. 2021",
            "transformers",
        ),
        "laco-clcp": Entry(
            "labelgrove.models.neural.laco:LacoClcp",
            "the same, also told which labels occur with given ones",
            "Zhang et al. 2021",
            "transformers",
        ),
        "seqtag": Entry(
            "labelgrove.models.neural.seqtag:SeqTag",
            "labels read with the text, then tagged yes or no one after the other by a BiLSTM-CRF",
            "Zhang et al. 2021",
            "transformers",
        ),
        "seq2seq": Entry(
            "labelgrove.models.neural.seq2seq:Seq2Seq",
            "a recurrent network writes a text's labels, one after the other: few labels",
            "Nam et al. 2017",
            "neural",
        ),
        "sgm": Entry(
            "labelgrove.models.neural.sgm:Sgm",
            "seq2seq whose every step also knows how probable the other labels were before",
            "Yang et al. 2018",
            "neural",
        ),
        "ocd": Entry(
            "labelgrove.models.neural.ocd:Ocd",
            "seq2seq without an order of labels, which learns from what it wrote itself",
            "Tsai and Lee 2020",
            "neural",
        ),
        "seq2set": Entry(
            "labelgrove.models.neural.seq2set:Seq2Set",
            "seq2seq with a second writer behind it that is rewarded for the F1 of its sets",
            "Yang et al. 2019",
            "neural",
        ),
        "treaderxml": Entry(
            "labelgrove.models.neural.treader_xml:TReaderXml",
            "texts read with what their neighbours are about; learns more without training",
            "Wang et al. 2022",
            "neural",
        ),
        "rerank": Entry(
            "labelgrove.models.rerank:Rerank",
            "a language model chooses among the best labels of a first stage; sends texts to it",
            "after Zhu and Zamani 2024",
        ),
        "consensus": Entry(
            "labelgrove.models.consensus:Consensus",
            "several models asked together; 'labelgrove combine' makes one of saved taggers",
            "You et al. 2018",
        ),
        "knn": Entry(
            "labelgrove.models.knn:Knn",
            "labels of the most similar documents: no training, and new documents at any time",
            "Cover and Hart 1967",
        ),
        "label-match": Entry(
            "labelgrove.models.label_match:LabelMatch",
            "finds label names in the text, also of labels that have no document yet",
            "after Medelyan 2009",
        ),
        "label-meaning": Entry(
            "labelgrove.models.label_meaning:LabelMeaning",
            "finds labels whose names mean what the text means; needs dense vectors, no documents",
            "after Palatucci et al. 2009",
        ),
        "most-frequent": Entry(
            "labelgrove.models.most_frequent:MostFrequent",
            "the same labels for every text, by frequency: what a real model must beat",
        ),
    },
    group="labelgrove.models",
)


def create(name: str, **settings: Any) -> Classifier:
    """Return a new model of that name; see ``labelgrove models`` for the names."""
    return MODELS.create(name, **settings)


def names() -> list[str]:
    """Return the names of all models, those of other installed packages included."""
    return MODELS.names()
