"""Packages other than Keras that make Keras models, as their own sources say.

Read in segmentation-models 1.0.1, keras-unet-collection 0.1.13, efficientnet 1.1.1, keras-efficientnet-v2 1.2.2,
vit-keras 0.2.0, keras-vggface 0.6, keras-cv 0.9.0, keras-hub 0.32.0 and transformers 4.45.2.
"""

from __future__ import annotations

import re

from tflint_gpu.lazy_patterns import regex

_PATTERNS = {
    "segmentation_models": r"(?:Unet|PSPNet|Linknet|FPN)",
    "keras_unet_collection": r"models\.[a-z0-9_]*(?:unet|u2net|vnet)[a-z0-9_]*_2d",
    "efficientnet": r"(?:tfkeras|keras)\.EfficientNet\w+",
    "keras_efficientnet_v2": r"EfficientNetV[12]\w+",
    "vit_keras": r"vit\.vit_[bl](?:16|32)",
    "keras_vggface": r"(?:vggface\.)?VGGFace",
    # tokenizers, preprocessors and encoders of labels are next to the models there
    "keras_cv": r"models\.(?:\w+\.)*(?:\w+(?:Backbone|Classifier|Detector)|RetinaNet|DeepLabV3Plus|SegFormer\w*)",
    "keras_hub": r"models\.\w+(?:Backbone|Classifier|Detector|Segmenter|CausalLM|MaskedLM|Seq2SeqLM)",
    "transformers": r"TF(?:\w+Model|\w+For[A-Z]\w+|\w+LMHeadModel|AutoModelWithLMHead)",
}
_PATTERNS["keras_nlp"] = _PATTERNS["keras_hub"]
_BUILDERS = {package: re.compile(pattern) for package, pattern in _PATTERNS.items()}
_MAKERS = regex(r"\.(?:from_preset|from_pretrained|from_config)$")

OPTIMIZING_FUNCTIONS = frozenset(
    f"tensorflow_model_optimization.{name}"
    for name in (
        "sparsity.keras.prune_low_magnitude sparsity.keras.strip_pruning clustering.keras.cluster_weights "
        "clustering.keras.strip_clustering quantization.keras.quantize_model quantization.keras.quantize_apply"
    ).split()
)
"""TensorFlow Model Optimization's functions: of a model they make a model, of a layer some of them make a layer."""


def is_model_of_package(name: str) -> bool:
    """Whether what has a canonical name is a class of Keras models, or makes one when it is called.

    Arguments:
        name: as in `segmentation_models.Unet`, `transformers.TFBertModel.from_pretrained`.
    """
    package, _, rest = name.partition(".")
    pattern = _BUILDERS.get(package)
    return pattern is not None and pattern.fullmatch(_MAKERS.sub("", rest)) is not None
