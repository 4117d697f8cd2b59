"""What reads, decodes and writes files. Names are canonical; some tuples hold only how names begin."""

from __future__ import annotations

from tflint_gpu.model.library.spellings import spelled

IMAGE_DECODERS = spelled("tf.{io,image}.decode_{jpeg,png,image,bmp,jpg}")
OF_ONE = IMAGE_DECODERS | spelled("tf.io.{read_file,parse_single_example}")
"""They take one name, or the bytes of one image or record, and refuse an array of several."""
RECORD_PARSERS = spelled("tf.{,io.,compat.v1.}parse_example")
"""They take one serialized record, or a batch of them."""
ONE_RECORD_PARSERS = spelled("tf.{,io.,compat.v1.}parse_single_example")
FIXED_FIELDS = spelled("tf.{,io.,compat.v1.}FixedLenFeature")
FIELDS = FIXED_FIELDS | spelled("tf.{,io.,compat.v1.}VarLenFeature")
RECORD_WRITERS = spelled("tf.{io,python_io,compat.v1.python_io}.TFRecordWriter")
ROW_WRITERS = spelled("tf.io.write_file numpy.save{,z,z_compressed}")
TEXT_SPLITS = spelled("tf.strings.split tf.{,compat.v1.}string_split")
IMAGE_READERS = spelled(
    """
    cv2.imread PIL.Image.open keras.{utils,preprocessing.image}.load_img {imageio,imageio.v2,skimage.io}.imread
    scipy.misc.imread matplotlib.{image,pyplot}.imread
    """
)
READING = (
    *(IMAGE_READERS - spelled("scipy.misc.imread imageio.v2.imread")),
    *(
        "cv2.imdecode imageio. tf.image.decode_ tf.io.decode_image tf.io.decode_jpeg tf.io.decode_png "
        "tf.audio.decode_wav tf.io.decode_raw tf.io.decode_wav numpy.load numpy.loadtxt numpy.genfromtxt "
        "numpy.fromfile librosa.load soundfile.read scipy.io.wavfile.read pandas.read_ nibabel.load pydicom.dcmread"
    ).split(),
)
"""What reads from a file or bytes something of whatever size that has."""
VALUES = tuple(
    (
        "numpy. cv2. PIL. imageio. skimage. scipy. librosa. soundfile. pandas. random. "
        "tf.io. tf.image.decode_ tf.random. tf.constant tf.convert_to_tensor tf.zeros tf.ones tf.fill tf.audio. "
        "keras.utils.load_img keras.utils.img_to_array keras.preprocessing. keras.random."
    ).split()
)
"""What gives values that are there while Python runs, and not the symbols of which Keras builds a model."""
LONG = ("tf.io.decode_", "tf.image.decode_", "tf.image.resize", "tf.audio.", "tf.signal.", "tf.io.read_file")
"""Next to these, what a call for each element costs does not count."""
PARALLEL_WORK = (*LONG, *"tf.image. tf.linalg. tf.map_fn tf.while_loop tf.strings.regex_ tf.strings.unicode_".split())
"""Work for several threads: on the pixels of an image, on sound, or over the text of a document."""
UNLOCKED = (
    *"cv2. PIL.Image. imageio. skimage. scipy. librosa. soundfile. requests. tf.image.".split(),
    *"zipfile.ZipFile zlib. gzip. bz2. lzma.".split(),
    *LONG,
)
"""What reads files or computes outside of Python's global lock, so that several of them run at a time.

`numpy.load` is none of them: two threads took longer for the same files than one (rules/EVIDENCE.md, TFG305).
"""
SLOW_OF_NUMPY = tuple(
    spelled(
        """
        numpy.{load,save,savez,fromfile,loadtxt,genfromtxt,memmap,linalg.,fft.,dot,matmul,convolve,correlate,einsum}
        numpy.tensordot
        """
    )
)
"""Those of NumPy's that read files, or compute for long outside of that lock."""
_JOINED = spelled("os.path.{join,abspath,realpath,normpath}")
PATHS_BY_THEIR_END = _JOINED | spelled("os.fspath pathlib.Path")
"""What gives a path that ends as its last argument does."""
_PATHS = _JOINED | spelled("os.path.{basename,dirname,relpath}")
TEXT_FUNCTIONS = _PATHS | spelled("{glob.glob,os.listdir,tf.io.gfile.glob,tf.io.gfile.listdir}")
"""What gives a path, or a list of the names of files."""
FAILING_ON_ELEMENTS = (
    _PATHS
    | PATHS_BY_THEIR_END
    | spelled(
        """
    os.path.{split,splitext,exists,isfile,isdir,getsize}
    math.{sqrt,floor,ceil,log,log2,log10,exp,sin,cos,tan,pow,radians,degrees} io.open
    numpy.load json.loads PIL.Image.open PIL.Image.fromarray
    """
    )
)
"""Each was tried on an element while tf.data traces: they raise TypeError or AttributeError, OpenCV's cv2.error."""
OUTSIDE = {
    "reading": (
        "io.open codecs.open gzip.open tf.io.gfile.GFile tf.data.TextLineDataset zipfile.ZipFile pycocotools.coco.COCO"
    ),
    "picture": " ".join(sorted(IMAGE_READERS)),
    "archive": "h5py.File",
    "read_bytes": "tf.io.read_file",
    "writing": (
        "cv2.imwrite skimage.io.imsave imageio.imwrite imageio.imsave imageio.v2.imwrite matplotlib.pyplot.imsave "
        "matplotlib.image.imsave matplotlib.pyplot.savefig keras.utils.save_img keras.preprocessing.image.save_img "
        "cv2.VideoWriter numpy.save numpy.savez numpy.savetxt os.mkdir os.makedirs tf.io.gfile.makedirs"
    ),
    "loading": "numpy.load numpy.loadtxt numpy.genfromtxt",
    "table": "pandas.read_csv pandas.read_table pandas.read_excel pandas.read_parquet",
    "fetched": "keras.utils.get_file keras.utils.data_utils.get_file",
    "retrieved": "urllib.request.urlretrieve wget.download gdown.download",
    "sized": "os.stat os.path.getsize",
    "answered": "requests.get urllib.request.urlopen",
    "left_out": "os.system",
    "unshown": "cv2.imshow cv2.namedWindow cv2.destroyAllWindows cv2.waitKey",
    "camera": "cv2.VideoCapture",
    "listing": (
        "os.listdir glob.glob glob.iglob tf.io.gfile.glob tf.io.gfile.listdir tf.data.Dataset.list_files "
        "tf.io.matching_files"
    ),
    "image_folder": (
        "keras.utils.image_dataset_from_directory keras.preprocessing.image_dataset_from_directory "
        "keras.preprocessing.image.image_dataset_from_directory"
    ),
    "text_folder": "keras.utils.text_dataset_from_directory keras.preprocessing.text_dataset_from_directory",
    "loaded": "keras.models.load_model keras.saving.load_model",
    "known_table": (
        "sklearn.datasets.fetch_california_housing sklearn.datasets.fetch_openml sklearn.datasets.fetch_olivetti_faces "
        "sklearn.datasets.fetch_covtype"
    ),
    "records": "tf.data.TFRecordDataset",
    "parsed": "tf.io.parse_single_example tf.io.parse_example",
}
"""What programs do with files, the network, the screen and what else is outside of them, and the functions for it."""
