"""The names that star imports of TensorFlow, Keras and NumPy bring.

From the packages themselves: `dir()` of each module of TensorFlow 2.21, Keras 3.15 and tf_keras 2.21 together, and
`numpy.__all__` of NumPy 2; `test_star_imports.py` compares them with what is installed.
"""

from __future__ import annotations

from functools import cache

_NAMES = {
    "keras": """
        DTypePolicy FloatDTypePolicy Function Initializer Input InputSpec KerasTensor Layer Loss Metric Model
        Operation Optimizer Quantizer Regularizer RematScope Sequential StatelessScope SymbolicScope Variable
        activations applications backend callbacks config constraints datasets device distillation distribution
        dtensor dtype_policies estimator experimental export initializers layers legacy losses metrics
        mixed_precision models name_scope ops optimizers preprocessing protobuf quantizers random regularizers
        remat saving src tree utils version visualization wrappers
    """,
    "keras.activations": """
        celu deserialize elu exponential gelu get glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh
        leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu serialize sigmoid silu soft_shrink
        softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink
        threshold
    """,
    "keras.applications": """
        ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 DenseNet169 DenseNet201
        EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6
        EfficientNetB7 EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L
        EfficientNetV2M EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet MobileNetV2 MobileNetV3Large
        MobileNetV3Small NASNetLarge NASNetMobile RegNetX002 RegNetX004 RegNetX006 RegNetX008 RegNetX016
        RegNetX032 RegNetX040 RegNetX064 RegNetX080 RegNetX120 RegNetX160 RegNetX320 RegNetY002 RegNetY004
        RegNetY006 RegNetY008 RegNetY016 RegNetY032 RegNetY040 RegNetY064 RegNetY080 RegNetY120 RegNetY160
        RegNetY320 ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 ResNetRS101 ResNetRS152
        ResNetRS200 ResNetRS270 ResNetRS350 ResNetRS420 ResNetRS50 VGG16 VGG19 Xception convnext densenet
        efficientnet efficientnet_v2 imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2
        mobilenet_v3 nasnet regnet resnet resnet50 resnet_rs resnet_v2 vgg16 vgg19 xception
    """,
    "keras.backend": """
        abs all any arange argmax argmin backend batch_dot batch_flatten batch_get_value batch_normalization
        batch_set_value bias_add binary_crossentropy binary_focal_crossentropy cast cast_to_floatx
        categorical_crossentropy categorical_focal_crossentropy clear_session clip concatenate constant conv1d
        conv2d conv2d_transpose conv3d cos count_params ctc_batch_cost ctc_decode ctc_label_dense_to_sparse
        cumprod cumsum depthwise_conv2d dot dropout dtype elu epsilon equal eval exp expand_dims experimental
        eye flatten floatx foldl foldr function gather get_uid get_value gradients greater greater_equal
        hard_sigmoid image_data_format in_test_phase in_top_k in_train_phase int_shape is_float_dtype
        is_int_dtype is_keras_tensor is_sparse l2_normalize learning_phase learning_phase_scope less less_equal
        local_conv1d local_conv2d log manual_variable_initialization map_fn max maximum mean min minimum
        moving_average_update name_scope ndim normalize_batch_in_training not_equal one_hot ones ones_like
        permute_dimensions placeholder pool2d pool3d pow print_tensor prod random_bernoulli random_binomial
        random_normal random_normal_variable random_uniform random_uniform_variable relu repeat repeat_elements
        reset_uids reshape resize_images resize_volumes result_type reverse rnn round separable_conv2d
        set_epsilon set_floatx set_image_data_format set_learning_phase set_value shape sigmoid sign sin softmax
        softplus softsign sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding sqrt square
        squeeze stack standardize_dtype std stop_gradient sum switch tanh temporal_padding tile to_dense
        transpose truncated_normal update update_add update_sub var variable zeros zeros_like
    """,
    "keras.callbacks": """
        BackupAndRestore BaseLogger CSVLogger Callback CallbackList EarlyStopping History LambdaCallback
        LearningRateScheduler ModelCheckpoint OrbaxCheckpoint ProgbarLogger ReduceLROnPlateau RemoteMonitor
        SidecarEvaluatorModelExport SwapEMAWeights TensorBoard TerminateOnNaN experimental
    """,
    "keras.constraints": """
        Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm deserialize get max_norm min_max_norm
        non_neg radial_constraint serialize unit_norm
    """,
    "keras.datasets": """
        boston_housing california_housing cifar10 cifar100 fashion_mnist imdb mnist reuters
    """,
    "keras.initializers": """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer Initializer
        LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT
        STFTInitializer TruncatedNormal VarianceScaling Zeros constant deserialize get glorot_normal
        glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform ones orthogonal random_normal
        random_uniform serialize stft truncated_normal variance_scaling zeros
    """,
    "keras.layers": """
        AbstractRNNCell Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
        AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
        AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D AveragePooling2D
        AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization Bidirectional CategoryEncoding
        CenterCrop Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D
        Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D
        Convolution1DTranspose Convolution2D Convolution2DTranspose Convolution3D Convolution3DTranspose
        Cropping1D Cropping2D Cropping3D CutMix Dense DenseFeatures DepthwiseConv1D DepthwiseConv2D
        Discretization Dot Dropout ELU EinsumDense Embedding Equalization Flatten FlaxLayer GRU GRUCell
        GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
        GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D
        GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization GroupQueryAttention
        HashedCrossing Hashing Identity Input InputLayer InputSpec IntegerLookup JaxLayer LSTM LSTMCell Lambda
        Layer LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D Masking MaxNumBoundingBoxes
        MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum MelSpectrogram Minimum
        MixUp MultiHeadAttention Multiply Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment
        RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop
        RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHeight
        RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation
        RandomSharpness RandomShear RandomTranslation RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape
        Resizing ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D
        SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D
        SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer TextVectorization
        ThresholdedReLU TimeDistributed TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D
        UpSampling3D Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average concatenate deserialize dot
        experimental maximum minimum multiply serialize subtract
    """,
    "keras.losses": """
        BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLD
        KLDivergence LogCosh Loss MAE MAPE MSE MSLE MeanAbsoluteError MeanAbsolutePercentageError
        MeanSquaredError MeanSquaredLogarithmicError Poisson Reduction SparseCategoricalCrossentropy
        SquaredHinge Tversky binary_crossentropy binary_focal_crossentropy categorical_crossentropy
        categorical_focal_crossentropy categorical_generalized_cross_entropy categorical_hinge circle
        cosine_similarity ctc deserialize dice get hinge huber kl_divergence kld kullback_leibler_divergence
        log_cosh logcosh mae mape mean_absolute_error mean_absolute_percentage_error mean_squared_error
        mean_squared_logarithmic_error mse msle poisson serialize sparse_categorical_crossentropy squared_hinge
        tversky
    """,
    "keras.metrics": """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy
        CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore FalseNegatives
        FalsePositives Hinge IoU KLD KLDivergence LogCoshError MAE MAPE MSE MSLE Mean MeanAbsoluteError
        MeanAbsolutePercentageError MeanIoU MeanMetricWrapper MeanRelativeError MeanSquaredError
        MeanSquaredLogarithmicError MeanTensor Metric OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson
        Precision PrecisionAtRecall R2Score Recall RecallAtPrecision RootMeanSquaredError
        SensitivityAtSpecificity SparseCategoricalAccuracy SparseCategoricalCrossentropy
        SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy
        TrueNegatives TruePositives binary_accuracy binary_crossentropy binary_focal_crossentropy
        categorical_accuracy categorical_crossentropy categorical_focal_crossentropy categorical_hinge
        concordance_correlation deserialize experimental get hinge huber kl_divergence kld
        kullback_leibler_divergence log_cosh logcosh mae mape mean_absolute_error mean_absolute_percentage_error
        mean_squared_error mean_squared_logarithmic_error mse msle pearson_correlation poisson serialize
        sparse_categorical_accuracy sparse_categorical_crossentropy sparse_top_k_categorical_accuracy
        squared_hinge top_k_categorical_accuracy
    """,
    "keras.models": """
        Model Sequential clone_model experimental load_model model_from_config model_from_json model_from_yaml
        save_model
    """,
    "keras.optimizers": """
        Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam
        Optimizer OptimizerMap RMSprop SGD ScheduleFreeAdamW deserialize experimental get legacy schedules
        serialize
    """,
    "keras.preprocessing.image": """
        DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator apply_affine_transform
        apply_brightness_shift apply_channel_shift array_to_img img_to_array load_img random_brightness
        random_channel_shift random_rotation random_shear random_shift random_zoom save_img smart_resize
    """,
    "keras.preprocessing.sequence": """
        TimeseriesGenerator make_sampling_table pad_sequences skipgrams
    """,
    "keras.preprocessing.text": """
        Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json
    """,
    "keras.regularizers": """
        L1 L1L2 L2 OrthogonalRegularizer Regularizer deserialize get l1 l1_l2 l2 orthogonal_regularizer
        serialize
    """,
    "keras.utils": """
        Config CustomObjectScope FeatureSpace GeneratorEnqueuer OrderedEnqueuer Progbar PyDataset Sequence
        SequenceEnqueuer SidecarEvaluator StepsPerExecutionTuner TimedThread array_to_img
        audio_dataset_from_directory bounding_boxes clear_session custom_object_scope deserialize_keras_object
        disable_interactive_logging enable_interactive_logging experimental get_custom_objects get_file
        get_registered_name get_registered_object get_source_inputs image_dataset_from_directory img_to_array
        is_interactive_logging_enabled is_keras_tensor legacy load_img model_to_dot normalize
        pack_x_y_sample_weight pad_sequences plot_model register_keras_serializable save_img
        serialize_keras_object set_random_seed split_dataset standardize_dtype text_dataset_from_directory
        timeseries_dataset_from_array to_categorical to_ordinal unpack_x_y_sample_weight
        warmstart_embedding_matrix
    """,
    "keras.applications.densenet": """
        DenseNet121 DenseNet169 DenseNet201 decode_predictions preprocess_input
    """,
    "keras.applications.efficientnet": """
        EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 EfficientNetB5 EfficientNetB6
        EfficientNetB7 decode_predictions preprocess_input
    """,
    "keras.applications.inception_resnet_v2": """
        InceptionResNetV2 decode_predictions preprocess_input
    """,
    "keras.applications.inception_v3": """
        InceptionV3 decode_predictions preprocess_input
    """,
    "keras.applications.mobilenet": """
        MobileNet decode_predictions preprocess_input
    """,
    "keras.applications.mobilenet_v2": """
        MobileNetV2 decode_predictions preprocess_input
    """,
    "keras.applications.nasnet": """
        NASNetLarge NASNetMobile decode_predictions preprocess_input
    """,
    "keras.applications.resnet": """
        ResNet101 ResNet152 ResNet50 decode_predictions preprocess_input
    """,
    "keras.applications.resnet50": """
        ResNet50 decode_predictions preprocess_input
    """,
    "keras.applications.resnet_v2": """
        ResNet101V2 ResNet152V2 ResNet50V2 decode_predictions preprocess_input
    """,
    "keras.applications.vgg16": """
        VGG16 decode_predictions preprocess_input
    """,
    "keras.applications.vgg19": """
        VGG19 decode_predictions preprocess_input
    """,
    "keras.applications.xception": """
        Xception decode_predictions preprocess_input
    """,
    "tf": """
        AggregationMethod Assert CriticalSection DType DeviceSpec GradientTape Graph IndexedSlices
        IndexedSlicesSpec Module NoneTensorSpec Operation OptionalSpec RaggedTensor RaggedTensorSpec
        RegisterGradient SparseTensor SparseTensorSpec Tensor TensorArray TensorArraySpec TensorShape TensorSpec
        TypeSpec UnconnectedGradients Variable VariableAggregation VariableSynchronization abs acos acosh add
        add_n approx_top_k argmax argmin argsort as_dtype as_string asin asinh assert_equal assert_greater
        assert_less assert_rank atan atan2 atanh audio autodiff autograph batch_to_space bfloat16 bitcast
        bitwise bool boolean_mask broadcast_dynamic_shape broadcast_static_shape broadcast_to case cast
        check_pinned clip_by_global_norm clip_by_norm clip_by_value compat complex complex128 complex64 concat
        cond config constant constant_initializer control_dependencies conv conv2d_backprop_filter_v2
        conv2d_backprop_input_v2 convert_to_tensor cos cosh cumsum custom_gradient data debugging device
        distribute divide double dtensor dtypes dynamic_partition dynamic_stitch edit_distance eig eigvals
        einsum ensure_shape equal errors executing_eagerly exp expand_dims experimental extract_volume_patches
        eye feature_column fftnd fill fingerprint float16 float32 float64 floor foldl foldr function gather
        gather_nd get_current_name_scope get_logger get_static_value grad_pass_through gradients graph_util
        greater greater_equal group guarantee_const half hessians histogram_fixed_width
        histogram_fixed_width_bins identity identity_n ifftnd image import_graph_def init_scope initializers
        inside_function int16 int32 int64 int8 io irfftnd is_symbolic_tensor is_tensor keras less less_equal
        linalg linspace lite load_library load_op_library logical_and logical_not logical_or lookup losses
        make_ndarray make_tensor_proto map_fn math matmul matrix_square_root maximum meshgrid metrics minimum
        mlir multiply name_scope negative nest newaxis nn no_gradient no_op nondifferentiable_batch_function
        norm not_equal numpy_function one_hot ones ones_initializer ones_like optimizers pad parallel_stack pow
        print profiler py_function qint16 qint32 qint8 quantization queue quint16 quint8 ragged
        ragged_fill_empty_rows ragged_fill_empty_rows_grad random random_index_shuffle random_normal_initializer
        random_uniform_initializer range rank raw_ops realdiv recompute_grad reduce_all reduce_any
        reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum
        register_tensor_conversion_function repeat required_space_to_batch_paddings reshape resource reverse
        reverse_sequence rfftnd roll round saturate_cast saved_model scalar_mul scan scatter_nd searchsorted
        security sequence_mask sets shape shape_n sigmoid sign signal sin sinh size slice sort space_to_batch
        space_to_batch_nd sparse split sqrt square squeeze stack stop_gradient strided_slice string strings
        subtract summary switch_case sysconfig tan tanh tensor_scatter_nd_add tensor_scatter_nd_max
        tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot test tile timestamp tools
        tpu train transpose truediv truncatediv truncatemod tuple type_spec_from_value types uint16 uint32
        uint64 uint8 unique unique_with_counts unravel_index unstack variable_creator_scope variant
        vectorized_map version where while_loop xla zeros zeros_initializer zeros_like
    """,
    "numpy": """
        False_ ScalarType True_ __array_namespace_info__ __version__ abs absolute acos acosh add all allclose
        amax amin angle any append apply_along_axis apply_over_axes arange arccos arccosh arcsin arcsinh arctan
        arctan2 arctanh argmax argmin argpartition argsort argwhere around array array2string array_equal
        array_equiv array_repr array_split array_str asanyarray asarray asarray_chkfinite ascontiguousarray
        asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_1d atleast_2d atleast_3d average
        bartlett base_repr binary_repr bincount bitwise_and bitwise_count bitwise_invert bitwise_left_shift
        bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman block bmat bool bool_ broadcast
        broadcast_arrays broadcast_shapes broadcast_to busday_count busday_offset busdaycalendar byte bytes_ c_
        can_cast cbrt cdouble ceil char character choose clip clongdouble column_stack common_type complex128
        complex256 complex64 complexfloating compress concat concatenate conj conjugate convolve copy copysign
        copyto core corrcoef correlate cos cosh count_nonzero cov cross csingle ctypeslib cumprod cumsum
        cumulative_prod cumulative_sum datetime64 datetime_as_string datetime_data deg2rad degrees delete diag
        diag_indices diag_indices_from diagflat diagonal diff digitize divide divmod dot double dsplit dstack
        dtype dtypes e ediff1d einsum einsum_path emath empty empty_like equal errstate euler_gamma exceptions
        exp exp2 expand_dims expm1 extract eye f2py fabs fft fill_diagonal finfo fix flatiter flatnonzero
        flexible flip fliplr flipud float128 float16 float32 float64 float_power floating floor floor_divide
        fmax fmin fmod format_float_positional format_float_scientific frexp from_dlpack frombuffer fromfile
        fromfunction fromiter frompyfunc fromregex fromstring full full_like gcd generic genfromtxt geomspace
        get_include get_printoptions getbufsize geterr geterrcall gradient greater greater_equal half hamming
        hanning heaviside histogram histogram2d histogram_bin_edges histogramdd hsplit hstack hypot i0 identity
        iinfo imag index_exp indices inexact inf info inner insert int16 int32 int64 int8 int_ intc integer
        interp intersect1d intp invert is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin
        isinf isnan isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron lcm
        ldexp left_shift less less_equal lexsort lib linalg linspace little_endian load loadtxt log log10 log1p
        log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logspace long longdouble
        longlong ma mask_indices matmul matrix matrix_transpose matvec max maximum may_share_memory mean median
        memmap meshgrid mgrid min min_scalar_type minimum mintypecode mod modf moveaxis multiply nan nan_to_num
        nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
        nanquantile nanstd nansum nanvar ndarray ndenumerate ndim ndindex nditer negative nested_iters newaxis
        nextafter nonzero not_equal number object_ ogrid ones ones_like outer packbits pad partition percentile
        permute_dims pi piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polynomial
        polysub polyval positive pow power printoptions prod promote_types ptp put put_along_axis putmask
        quantile r_ rad2deg radians random ravel ravel_multi_index real real_if_close rec recarray reciprocal
        record remainder repeat require reshape resize result_type right_shift rint roll rollaxis roots rot90
        round row_stack s_ save savetxt savez savez_compressed sctypeDict searchsorted select set_printoptions
        setbufsize setdiff1d seterr seterrcall setxor1d shape shares_memory short show_config show_runtime sign
        signbit signedinteger sin sinc single sinh size sort sort_complex spacing split sqrt square squeeze
        stack std str_ strings subtract sum swapaxes take take_along_axis tan tanh tensordot test testing tile
        timedelta64 trace transpose trapezoid tri tril tril_indices tril_indices_from trim_zeros triu
        triu_indices triu_indices_from true_divide trunc typecodes typename typing ubyte ufunc uint uint16
        uint32 uint64 uint8 uintc uintp ulong ulonglong union1d unique unique_all unique_counts unique_inverse
        unique_values unpackbits unravel_index unsignedinteger unstack unwrap ushort vander var vdot vecdot
        vecmat vectorize void vsplit vstack where zeros zeros_like
    """,
}


@cache
def names_brought_by(module: str) -> frozenset[str] | None:
    """The names that a star import of a module brings; None of other modules."""
    names = _NAMES.get(module)
    return None if names is None else frozenset(names.split())
