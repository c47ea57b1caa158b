//go:build cgo && !race

package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/openai"
	"github.com/modellog/modellog/lm/serve"
)

// TestMain leaves the examples out where their model is not on this machine: they cannot skip themselves.
func TestMain(m *testing.M) {
	flag.Parse()
	if _, err := open.Find(context.Background(), "smollm2:135m-instruct", open.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "the examples are skipped:", err)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(m.Run())
}

// A program serves a model on a free port of this machine, and another continues a text with it by package openai, as with
// any server of the protocol.
func Example() {
	ctx, end := context.WithCancel(context.Background())
	model, err := open.Model(ctx, "smollm2:135m-instruct", open.Options{Precision: "exact"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	server, err := serve.New([]lm.Model{model}, serve.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, l) }()

	served, err := openai.Open(ctx, "http://"+l.Addr().String(), "", openai.Options{})
	if err != nil {
		log.Fatal(err)
	}
	text, err := served.Generate(ctx, lm.Request{Prompt: "The capital of France is", MaxTokens: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(served.Info().Name+":", text.Text)

	end()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: smollm2:135m-instruct:  Paris
}

// A cell in Go, or any other program, asks a server on a Unix socket, as
//
//	modellog serve -m smollm2:135m-instruct --listen unix:modellog.sock
//
// starts one, how probable the words of a sentence are.
func ExampleServer_Listen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "modellog.sock")
	ctx, end := context.WithCancel(context.Background())
	model, err := open.Model(ctx, "smollm2:135m-instruct", open.Options{Precision: "exact"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	server, err := serve.New([]lm.Model{model}, serve.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	l, err := server.Listen(ctx, "unix:"+socket)
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, l) }()

	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	request := []byte(`{"prompt": "Snow is white", "max_tokens": 0, "echo": true, "logprobs": 0}`)
	resp, err := client.Post("http://localhost/v1/completions", "application/json", bytes.NewReader(request))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct {
			LogProbs struct {
				Tokens        []string   `json:"tokens"`
				TokenLogProbs []*float64 `json:"token_logprobs"`
			} `json:"logprobs"`
		} `json:"choices"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	for i, token := range answer.Choices[0].LogProbs.Tokens {
		if p := answer.Choices[0].LogProbs.TokenLogProbs[i]; p != nil {
			fmt.Printf("%q %.1f\n", token, *p)
		} else {
			fmt.Printf("%q nothing is before it\n", token)
		}
	}

	client.CloseIdleConnections()
	end()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// "Snow" nothing is before it
	// " is" -4.4
	// " white" -9.6
}
