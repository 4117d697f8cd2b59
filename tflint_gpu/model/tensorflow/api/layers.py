"""Layers of Keras."""

WEIGHTED = frozenset(
    (
        "Dense EinsumDense Conv1D Conv2D Conv3D Convolution1D Convolution2D Convolution3D Conv1DTranspose "
        "Conv2DTranspose Conv3DTranspose DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D LSTM GRU "
        "SimpleRNN RNN ConvLSTM1D ConvLSTM2D ConvLSTM3D MultiHeadAttention GroupQueryAttention Embedding "
        "BatchNormalization LayerNormalization GroupNormalization"
    ).split()
)
"""The last parts of the names of layers that have weights."""
