# docker build -t tflint-gpu . && docker run --rm -v "$PWD:/code:ro" tflint-gpu
FROM python:3.14-slim
COPY pyproject.toml README.md LICENSE /source/
COPY tflint_gpu /source/tflint_gpu
COPY rules /source/rules
RUN pip install --no-cache-dir --disable-pip-version-check /source && rm -r /source
WORKDIR /code
ENTRYPOINT ["tflint-gpu"]
CMD ["check"]
