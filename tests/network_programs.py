"""Programs that build networks as people write them: run by Keras in the tests, and read by the model.

Each leaves its network in `model`, compiled; the tests add a call of `fit`.
"""

HEAD = """\
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
"""

PROGRAMS = {
    "dense net": """
model = keras.Sequential([
    keras.Input(shape=(784,)),
    layers.Dense(512, activation="relu"),
    layers.Dropout(0.2),
    layers.Dense(256, activation="relu", use_bias=False),
    layers.BatchNormalization(scale=False),
    layers.Dense(10, activation="softmax"),
])
model.compile(optimizer="sgd", loss="mse")
""",
    "added layers": """
SHAPE = (28, 28, 1)
model = keras.models.Sequential()
model.add(layers.Conv2D(32, (3, 3), activation="relu", input_shape=SHAPE))
model.add(layers.Conv2D(64, (3, 3), activation="relu"))
model.add(layers.MaxPooling2D(pool_size=(2, 2)))
model.add(layers.Flatten())
model.add(layers.Dense(128, activation="relu"))
model.add(layers.Dense(10))
model.compile("adam", "mse")
""",
    "by hand: VGG": """
CONFIG = [(2, 64), (2, 128), (3, 256), (3, 512)]
model = keras.Sequential()
model.add(layers.Rescaling(1.0 / 255, input_shape=(64, 64, 3)))
for repeats, filters in CONFIG:
    for _ in range(repeats):
        model.add(layers.Conv2D(filters, 3, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.Activation("relu"))
    model.add(layers.MaxPool2D(2, 2))
model.add(layers.Flatten())
model.add(layers.Dense(4096 // 4))
model.add(layers.PReLU())
model.add(layers.Dense(10))
model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.9), loss="mse")
""",
    "residual blocks": """
def residual_block(x, filters, strides=1, shortcut=False):
    y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
    y = layers.BatchNormalization()(y)
    y = layers.ReLU()(y)
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    if shortcut:
        x = layers.Conv2D(filters, 1, strides=strides)(x)
    return layers.ReLU()(layers.add([x, y]))


def build(depths, width=32):
    inputs = layers.Input((64, 64, 3))
    x = layers.ZeroPadding2D(3)(inputs)
    x = layers.Conv2D(width, 7, strides=2)(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    for stage, depth in enumerate(depths):
        for block in range(depth):
            first = block == 0
            x = residual_block(x, width * 2**stage, 2 if first and stage > 0 else 1, shortcut=first)
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(100)(x))


model = build([2, 2, 2, 2])
model.compile(optimizer=keras.optimizers.RMSprop(1e-3, momentum=0.9, centered=True), loss="mse")
""",
    "encoder and decoder with skips": """
class UNet:
    def __init__(self, size=128, filters=(16, 32, 64)):
        self.size = size
        self.filters = list(filters)

    def block(self, x, filters):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        return x

    def build(self):
        inputs = x = keras.Input((self.size, self.size, 3))
        skips = []
        for filters in self.filters:
            x = self.block(x, filters)
            skips.append(x)
            x = layers.MaxPooling2D()(x)
        x = self.block(x, 2 * self.filters[-1])
        for filters, skip in zip(self.filters[::-1], skips[::-1]):
            x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
            x = layers.Concatenate()([x, skip])
            x = self.block(x, filters)
        return keras.Model(inputs=inputs, outputs=layers.Conv2D(1, 1, activation="sigmoid")(x))


model = UNet().build()
model.compile(optimizer=keras.optimizers.AdamW(1e-4), loss="mse")
""",
    "inverted residuals": """
def inverted(x, expand, filters, strides):
    channels = x.shape[-1]
    y = layers.Conv2D(expand * channels, 1, use_bias=False)(x)
    y = layers.BatchNormalization()(y)
    y = layers.ReLU(6.0)(y)
    y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    y = layers.ReLU(6.0)(y)
    y = layers.Conv2D(filters, 1, use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.Add()([x, y]) if strides == 1 and channels == filters else y


inputs = keras.Input([96, 96, 3])
x = layers.Conv2D(16, 3, 2, "same")(inputs)
for expand, filters, repeats, strides in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2)]:
    for i in range(repeats):
        x = inverted(x, expand, filters, strides if i == 0 else 1)
outputs = layers.Dense(5)(layers.GlobalAvgPool2D()(x))
model = keras.Model(inputs, outputs)
model.compile(optimizer="nadam", loss="mse")
""",
    "separable convolutions": """
inputs = keras.Input(shape=(72, 72, 3))
x = inputs
for size in [32, 64, 128]:
    residual = layers.Conv2D(size, 1, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.SeparableConv2D(size, 3, padding="same", use_bias=False)(x)
    x = layers.SeparableConv2D(size, 3, padding="same", depth_multiplier=2)(x)
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = layers.add([x, residual])
x = layers.GlobalMaxPooling2D()(x)
model = keras.Model(inputs=inputs, outputs=layers.Dense(1)(layers.Dropout(0.5)(x)))
model.compile(optimizer=keras.optimizers.Adamax(), loss="mse")
""",
    "generator": """
def generator(latent=100):
    net = keras.Sequential(name="generator")
    net.add(layers.Dense(7 * 7 * 256, use_bias=False, input_shape=(latent,)))
    net.add(layers.BatchNormalization())
    net.add(layers.LeakyReLU())
    net.add(layers.Reshape((7, 7, 256)))
    net.add(layers.Conv2DTranspose(128, (5, 5), strides=(1, 1), padding="same", use_bias=False))
    net.add(layers.LeakyReLU())
    net.add(layers.Conv2DTranspose(64, (5, 5), strides=(2, 2), padding="same", use_bias=False))
    net.add(layers.UpSampling2D())
    net.add(layers.Conv2DTranspose(1, 4, strides=3))
    return net


model = generator()
model.compile(optimizer=keras.optimizers.Adam(2e-4, 0.5, amsgrad=True), loss="mse")
""",
    "volumes": """
model = keras.Sequential([
    layers.Conv3D(16, 3, activation="relu", input_shape=(32, 32, 32, 1)),
    layers.MaxPooling3D(2),
    layers.Conv3D(32, (3, 3, 1), padding="same", strides=2),
    layers.BatchNormalization(),
    layers.AveragePooling3D((2, 2, 1)),
    layers.SpatialDropout3D(0.1),
    layers.Conv3DTranspose(8, 3, strides=2),
    layers.GlobalAveragePooling3D(),
    layers.Dense(2),
])
model.compile(optimizer="adagrad", loss="mse")
""",
    "dilated convolutions over time": """
inputs = keras.Input(shape=(1024, 4))
x = layers.Conv1D(32, 1)(inputs)
rate = 1
while rate <= 64:
    y = layers.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(x)
    y = layers.LayerNormalization()(y)
    x = x + y
    rate *= 2
x = layers.MaxPooling1D(4)(x)
x = layers.ZeroPadding1D((1, 2))(x)
x = layers.Cropping1D(1)(x)
x = layers.UpSampling1D(2)(x)
x = layers.Conv1DTranspose(16, 3, strides=2)(x)
model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
model.compile(optimizer="adadelta", loss="mse")
""",
    "recurrent classifier": """
VOCABULARY, LENGTH = 20_000, 200
model = keras.Sequential()
model.add(keras.Input(shape=(LENGTH,)))
model.add(layers.Embedding(VOCABULARY, 128))
model.add(layers.SpatialDropout1D(0.2))
model.add(layers.Bidirectional(layers.LSTM(64, return_sequences=True)))
model.add(layers.Bidirectional(layers.GRU(32), merge_mode="sum"))
model.add(layers.Dense(1, activation="sigmoid"))
model.compile(optimizer="rmsprop", loss="mse")
""",
    "sequences to sequences": """
UNITS = 128
encoder_inputs = keras.Input((30, 70))
_, state_h, state_c = layers.LSTM(UNITS, return_state=True)(encoder_inputs)
decoder_inputs = keras.Input((25, 90))
sequence = layers.LSTM(UNITS, return_sequences=True)(decoder_inputs, initial_state=[state_h, state_c])
outputs = layers.TimeDistributed(layers.Dense(90, activation="softmax"))(sequence)
model = keras.Model([encoder_inputs, decoder_inputs], outputs)
model.compile(optimizer=keras.optimizers.Lion(), loss="mse")
""",
    "recurrent with repeats": """
model = keras.Sequential([
    layers.SimpleRNN(64, input_shape=(50, 8), return_sequences=True),
    layers.GRU(64, reset_after=False),
    layers.RepeatVector(50),
    layers.RNN(layers.LSTMCell(32), return_sequences=True),
    layers.TimeDistributed(layers.Dense(8)),
])
model.compile(optimizer="ftrl", loss="mse")
""",
    "convolutional LSTM": """
model = keras.Sequential([
    keras.Input((8, 32, 32, 1)),
    layers.ConvLSTM2D(16, (3, 3), padding="same", return_sequences=True),
    layers.BatchNormalization(),
    layers.ConvLSTM2D(8, 5, padding="same", return_sequences=True),
    layers.Conv3D(1, (3, 3, 3), padding="same", activation="sigmoid"),
])
model.compile(optimizer="adam", loss="mse")
""",
    "frames by a shared network": """
frame = keras.Sequential([
    layers.Conv2D(16, 3, activation="relu", input_shape=(32, 32, 3)),
    layers.MaxPooling2D(),
    layers.Flatten(),
])
model = keras.Sequential([
    keras.Input((10, 32, 32, 3)),
    layers.TimeDistributed(frame),
    layers.GRU(32),
    layers.Dense(4),
])
model.compile(optimizer="adam", loss="mse")
""",
    "transformer encoder": """
def encoder(x, heads, width, hidden, rate=0.1):
    attended = layers.MultiHeadAttention(num_heads=heads, key_dim=width // heads, dropout=rate)(x, x)
    attended = layers.Dropout(rate)(attended)
    x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
    y = layers.Dense(hidden, activation="gelu")(x)
    y = layers.Dense(width)(y)
    return layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, y]))


tokens = keras.Input(shape=(128,), dtype="int32")
x = layers.Embedding(input_dim=8000, output_dim=256)(tokens)
for _ in range(4):
    x = encoder(x, heads=8, width=256, hidden=1024)
x = layers.GlobalAveragePooling1D()(x)
model = keras.Model(tokens, layers.Dense(2)(x))
model.compile(optimizer=keras.optimizers.AdamW(learning_rate=1e-4, weight_decay=1e-2), loss="mse")
""",
    "transformer block as a layer": """
class TransformerBlock(layers.Layer):
    def __init__(self, width, heads, hidden, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(num_heads=heads, key_dim=width)
        self.network = keras.Sequential([layers.Dense(hidden, activation="relu"), layers.Dense(width)])
        self.first = layers.LayerNormalization(epsilon=1e-6)
        self.second = layers.LayerNormalization(epsilon=1e-6)
        self.dropout = layers.Dropout(rate)

    def call(self, inputs, training=None):
        attended = self.dropout(self.attention(inputs, inputs), training=training)
        between = self.first(inputs + attended)
        return self.second(between + self.network(between))


inputs = keras.Input((64, 32))
x = TransformerBlock(32, 2, 32)(inputs)
x = TransformerBlock(32, 2, hidden=64)(x)
model = keras.Model(inputs, layers.Dense(20)(layers.Flatten()(x)))
model.compile(optimizer="adam", loss="mse")
""",
    "attention between two inputs": """
query = keras.Input((20, 64))
value = keras.Input((30, 64))
scores = layers.Attention(use_scale=True)([query, value])
added = layers.AdditiveAttention()([query, value])
joined = layers.Concatenate(axis=-1)([scores, added])
product = layers.Dot(axes=2)([layers.Dense(32)(joined), layers.Dense(32)(value)])
model = keras.Model(inputs=[query, value], outputs=layers.Dense(1)(layers.Flatten()(product)))
model.compile(optimizer="adam", loss="mse")
""",
    "squeeze and excitation": """
def gate(x, ratio=8):
    channels = x.shape[-1]
    weights = layers.GlobalAveragePooling2D(keepdims=True)(x)
    weights = layers.Conv2D(max(1, channels // ratio), 1, activation="swish")(weights)
    weights = layers.Conv2D(channels, 1, activation="sigmoid")(weights)
    return layers.Multiply()([x, weights])


inputs = keras.Input((48, 48, 3))
x = layers.Conv2D(32, 5, padding="same", groups=1)(inputs)
x = layers.GroupNormalization(groups=8)(x)
x = gate(x)
x = layers.Conv2D(64, 3, strides=2, groups=4)(x)
x = gate(x, 4)
x = layers.Permute((2, 1, 3))(x)
model = keras.Model(inputs, layers.Dense(3)(layers.Flatten()(x)))
model.compile(optimizer="adam", loss="mse")
""",
    "two towers with shared layers": """
def tower():
    return keras.Sequential([
        keras.Input((105, 105, 1)),
        layers.Conv2D(16, 10, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 7, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64),
    ])


shared = tower()
left, right = keras.Input((105, 105, 1)), keras.Input((105, 105, 1))
distance = layers.Subtract()([shared(left), shared(right)])
model = keras.Model([left, right], layers.Dense(1, activation="sigmoid")(distance))
model.compile(optimizer="adam", loss="mse")
""",
    "augmentation in front": """
augmentation = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.1)])
inputs = keras.Input((110, 110, 3))
x = augmentation(inputs)
x = layers.Resizing(96, 96)(x)
x = layers.Rescaling(1.0 / 255)(x)
filters = 64
for _ in range(4):
    x = layers.Conv2D(filters, 3, activation="relu")(x)
    x = layers.MaxPooling2D(2)(x)
    filters = filters * 2
x = layers.Flatten()(x)
model = keras.Model(inputs, layers.Dense(5)(x))
model.compile(optimizer="adam", loss="mse")
""",
    "tables": """
FEATURES = {"age": 1, "income": 1, "history": 24}
inputs = {name: keras.Input((length,), name=name) for name, length in FEATURES.items()}
x = layers.concatenate([inputs["age"], inputs["income"], inputs["history"]])
x = layers.BatchNormalization()(x)
for units in (256, 128, 64):
    x = layers.Dense(units, kernel_initializer="he_normal")(x)
    x = layers.ELU()(x)
    x = layers.GaussianNoise(0.1)(x)
first = layers.Dense(1, name="churn")(x)
second = layers.Dense(3, name="segment")(x)
model = keras.Model([inputs["age"], inputs["income"], inputs["history"]], [first, second])
model.compile(optimizer="adam", loss=["mse", "mse"])
""",
    "from the table: ResNet50": """
base = keras.applications.ResNet50(weights=None, include_top=False, input_shape=(160, 160, 3))
x = layers.GlobalAveragePooling2D()(base.output)
model = keras.Model(base.input, layers.Dense(10)(x))
model.compile(optimizer="adam", loss="mse")
""",
    "from the table: MobileNetV2, called": """
base = keras.applications.mobilenet_v2.MobileNetV2(weights=None, include_top=False, input_shape=(128, 128, 3), pooling="avg")
inputs = keras.Input((128, 128, 3))
model = keras.Model(inputs, layers.Dense(7)(base(inputs)))
model.compile(optimizer="sgd", loss="mse")
""",
    "from the table: EfficientNetB0 in a Sequential": """
model = keras.Sequential()
model.add(keras.applications.EfficientNetB0(weights=None, include_top=False, input_shape=(96, 96, 3)))
model.add(layers.Flatten())
model.add(layers.Dense(2))
model.compile(optimizer="adam", loss="mse")
""",
    "from the table: DenseNet121 with its top": """
model = keras.applications.DenseNet121(weights=None, classes=20)
model.compile(optimizer="adam", loss="mse")
""",
    "shapes of arrays that others are made of": """
import numpy as np
frames = np.concatenate([np.zeros((30, 24, 32)), np.ones((20, 24, 32))]).transpose(0, 2, 1)[..., np.newaxis]
labels = keras.utils.to_categorical(np.zeros((50, 1)), 7)
inputs = keras.Input(frames.shape[1:])
x = layers.Conv2D(frames.shape[0] // 10, 3)(inputs)
x = tf.keras.ops.reshape(x, (-1, x.shape[1] * x.shape[2], 5))
x = tf.keras.ops.matmul(x, np.ones((5, 6), "float32"))
model = keras.Model(inputs, layers.Dense(labels.shape[1])(layers.Flatten()(x)))
model.compile(optimizer="adam", loss="mse")
""",
}
