package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modellog/modellog/lm"
)

// liar is a server that has the model "m" and answers as a test says.
func liar(t *testing.T, answer http.HandlerFunc) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/completions") {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func open(t *testing.T, address string, o Options) *Model {
	t.Helper()
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	m, err := Open(t.Context(), address, "m", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func say(w http.ResponseWriter, kind, body string) {
	w.Header().Set("Content-Type", kind)
	io.WriteString(w, body)
}

const (
	whole   = `{"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`
	partOne = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ye\"},\"finish_reason\":null}]}\n\n"
	partTwo = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"s\"},\"finish_reason\":null}]}\n\n"
	last    = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
)

var question = lm.Request{Messages: []lm.Message{{Role: lm.User, Content: "Well?"}}, MaxTokens: 5}

// What is sent is what was asked for.
func TestRequest(t *testing.T) {
	var got map[string]any
	var path string
	m := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		got = nil
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		if strings.HasSuffix(path, "/chat/completions") {
			say(w, "application/json", whole)
		} else {
			say(w, "application/json", `{"choices":[{"index":0,"text":" yes","finish_reason":"length"}]}`)
		}
	}), Options{})
	r := lm.Request{Messages: []lm.Message{{Role: lm.System, Content: "s"}, {Role: lm.User, Content: "<|im_end|>"}}, MaxTokens: 9, Temperature: 0.7, TopK: 4, TopP: 0.5, Seed: 3, Stop: []string{"\n", "b", "c", "d", "es"}}
	response, err := m.Generate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if response.Text != "y" || response.Finish != lm.Stop || response.Prompt != 7 || response.Generated != 2 {
		t.Errorf("%+v: the fifth stop text is looked for here", response)
	}
	want := `{"max_tokens":9,"messages":[{"content":"s","role":"system"},{"content":"\u003c|im_end|\u003e","role":"user"}],"min_p":0,"model":"m","repeat_penalty":1,"repetition_penalty":1,"seed":3,"stop":["\n","b","c","d"],"stream":false,"temperature":0.7,"top_k":4,"top_p":0.5}`
	if body, _ := json.Marshal(got); string(body) != want || path != "/v1/chat/completions" {
		t.Errorf("%s %s, want %s", path, body, want)
	}
	response, err = m.Generate(t.Context(), lm.Request{Prompt: "Say", MaxTokens: 1})
	if err != nil || response.Text != " yes" || response.Finish != lm.Length || path != "/v1/completions" || got["prompt"] != "Say" || got["temperature"] != 0.0 || got["top_p"] != 1.0 {
		t.Errorf("%+v, %v, %s %v", response, err, path, got)
	}
}

// Answers that are none, and what is said of them.
func TestLies(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		stream bool
		want   string
	}{
		"HTML":          {func(w http.ResponseWriter) { say(w, "text/html", "<h1>router</h1>") }, false, "router"},
		"empty":         {func(w http.ResponseWriter) { say(w, "application/json", "") }, false, "an empty answer"},
		"another shape": {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":{"a":1}}`) }, false, "not what was asked for"},
		"a number":      {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":[{"text":5}]}`) }, false, "not what was asked for"},
		"two answers":   {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":[{"text":"a"},{"text":"b"}]}`) }, false, "2 answers"},
		"no answers":    {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":[]}`) }, false, "0 answers"},
		"no text":       {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":[{"finish_reason":"stop"}]}`) }, false, "without a text"},
		"no end":        {func(w http.ResponseWriter) { say(w, "application/json", `{"choices":[{"text":"a"}]}`) }, false, "why it ended"},
		"filtered": {func(w http.ResponseWriter) {
			say(w, "application/json", `{"choices":[{"text":"a","finish_reason":"content_filter"}]}`)
		}, false, "content_filter"},
		"error inside":    {func(w http.ResponseWriter) { say(w, "application/json", `{"error":{"message":"out of memory"}}`) }, false, "out of memory"},
		"huge":            {func(w http.ResponseWriter) { say(w, "application/json", strings.Repeat(" ", maxAnswer+1)) }, false, "more than 4 MB"},
		"trailing":        {func(w http.ResponseWriter) { say(w, "application/json", whole+whole) }, false, "not what was asked for"},
		"JSON for a part": {func(w http.ResponseWriter) { say(w, "application/json", whole) }, true, "application/json"},
		"bad part":        {func(w http.ResponseWriter) { say(w, "text/event-stream", partOne+"data: {\n\n") }, true, "not what was asked for"},
		"long line":       {func(w http.ResponseWriter) { say(w, "text/event-stream", "data: "+strings.Repeat("x", maxLine)) }, true, "a part of more than"},
		"after the end": {func(w http.ResponseWriter) {
			say(w, "text/event-stream", strings.TrimSuffix(last, "data: [DONE]\n\n")+partOne)
		}, true, "after the end"},
		"cut in the middle": {func(w http.ResponseWriter) { say(w, "text/event-stream", partOne) }, true, "ends in the middle"},
		"400": {func(w http.ResponseWriter) {
			w.WriteHeader(400)
			say(w, "application/json", `{"error":{"message":"context length exceeded"}}`)
		}, false, "context length exceeded"},
		"401":         {func(w http.ResponseWriter) { w.WriteHeader(401) }, false, "MODELLOG_OPENAI_KEY"},
		"404":         {func(w http.ResponseWriter) { w.WriteHeader(404); io.WriteString(w, `{"detail":"Not Found"}`) }, false, "Not Found"},
		"500":         {func(w http.ResponseWriter) { w.WriteHeader(500); io.WriteString(w, "boom") }, false, "boom"},
		"redirection": {func(w http.ResponseWriter) { w.Header().Set("Location", "http://127.0.0.1:1/"); w.WriteHeader(302) }, false, "sends on to another address"},
		"for a terminal": {func(w http.ResponseWriter) {
			w.WriteHeader(400)
			say(w, "application/json", `{"error":{"message":"\u001b[2Jgone\u0007"}}`)
		}, false, "\ufffd[2Jgone\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, liar(t, func(w http.ResponseWriter, _ *http.Request) { test.answer(w) }), Options{Retries: 1})
			r := question
			if test.stream {
				r.Stream = func(string) error { return nil }
			}
			response, err := m.Generate(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), test.want) || response.Finish != "" {
				t.Errorf("%+v, %v; want an error with %q", response, err, test.want)
			}
		})
	}
}

// What falters is asked again, and what is refused is not.
func TestRetries(t *testing.T) {
	hang := func(w http.ResponseWriter) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		c.Close()
	}
	short := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		say(w, "application/json", whole[:30])
		hang(w)
	}
	for name, test := range map[string]struct {
		fail  func(w http.ResponseWriter)
		tries int32
	}{
		"closed":    {hang, 3},
		"truncated": {short, 3},
		"500":       {func(w http.ResponseWriter) { w.WriteHeader(500) }, 3},
		"503":       {func(w http.ResponseWriter) { w.WriteHeader(503) }, 3},
		"429":       {func(w http.ResponseWriter) { w.WriteHeader(429) }, 3},
		"400":       {func(w http.ResponseWriter) { w.WriteHeader(400) }, 1},
		"501":       {func(w http.ResponseWriter) { w.WriteHeader(501) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			m := open(t, liar(t, func(w http.ResponseWriter, _ *http.Request) {
				if tries.Add(1) < 3 {
					test.fail(w)
					return
				}
				say(w, "application/json", whole)
			}), Options{})
			response, err := m.Generate(t.Context(), question)
			if tries.Load() != test.tries || (err == nil) != (test.tries == 3) || err == nil && response.Text != "yes" {
				t.Errorf("%d tries, %+v, %v", tries.Load(), response, err)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	var at []time.Time
	m := open(t, liar(t, func(w http.ResponseWriter, _ *http.Request) {
		if at = append(at, time.Now()); len(at) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
			return
		}
		say(w, "application/json", whole)
	}), Options{})
	if _, err := m.Generate(t.Context(), question); err != nil {
		t.Fatal(err)
	}
	if waited := at[1].Sub(at[0]); waited < time.Second || waited > 3*time.Second {
		t.Errorf("it came back after %v, and was told to in 1 s", waited)
	}
	if d := retryAfter(time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)); d < 80*time.Second || d > 90*time.Second {
		t.Errorf("a time in 90 s is %v", d)
	}
	for _, header := range []string{"99999999999999999999", "1e300", "Inf", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		if d := retryAfter(header); d <= patience {
			t.Errorf("%q is %v", header, d)
		}
	}
	for _, header := range []string{"", "soon", "-5", "NaN", "-Inf", "Fri, 31 Dec 1999 23:59:59 GMT"} {
		if d := retryAfter(header); d != 0 {
			t.Errorf("%q is %v", header, d)
		}
	}
	// One that would take too long is said at once, and an interruption ends a wait.
	long := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", r.Header.Get("X-Test")+"3600")
		w.WriteHeader(429)
	}), Options{})
	if _, err := long.Generate(t.Context(), question); err == nil || !strings.Contains(err.Error(), "1h0m0s") {
		t.Errorf("%v", err)
	}
	slow := open(t, liar(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(503)
	}), Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := slow.Generate(ctx, question); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
}

func TestStream(t *testing.T) {
	var tries atomic.Int32
	m := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		switch tries.Add(1) {
		case 1: // before anything is handed on
			w.WriteHeader(502)
		case 2:
			say(w, "text/event-stream", ": comment\n\n"+partOne+"event: x\n"+partTwo+last)
		default: // in the middle
			say(w, "text/event-stream", partOne)
		}
	}), Options{})
	var parts []string
	r := question
	r.Stream = func(part string) error { parts = append(parts, part); return nil }
	response, err := m.Generate(t.Context(), r)
	if err != nil || response.Text != "yes" || response.Finish != lm.Stop || fmt.Sprint(parts) != "[ye s]" {
		t.Errorf("%+v, %v, parts %q", response, err, parts)
	}
	// Nothing is handed on twice.
	parts = nil
	response, err = m.Generate(t.Context(), r)
	if err == nil || response.Text != "ye" || fmt.Sprint(parts) != "[ye]" || tries.Load() != 3 {
		t.Errorf("%+v, %v, parts %q after %d tries", response, err, parts, tries.Load())
	}
	failed := errors.New("enough")
	tries.Store(1)
	r.Stream = func(string) error { return failed }
	if _, err := m.Generate(t.Context(), r); err != failed {
		t.Errorf("an error of Stream's came back as %v", err)
	}
}

func TestSlow(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	m := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, partOne)
		w.(http.Flusher).Flush()
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}), Options{Timeout: 100 * time.Millisecond})
	r := question
	r.Stream = func(string) error { return nil }
	if response, err := m.Generate(t.Context(), r); err == nil || !strings.Contains(err.Error(), "did not answer in 100ms") || response.Text != "ye" {
		t.Errorf("%+v, %v", response, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.Stream = func(string) error { cancel(); return nil }
	if _, err := m.Generate(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("an interruption is %v", err)
	}
}

func TestParallel(t *testing.T) {
	var now, most atomic.Int32
	m := open(t, liar(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(10 * time.Millisecond)
		say(w, "application/json", whole)
	}), Options{Parallel: 3})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := m.Generate(t.Context(), question); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if most.Load() != 3 {
		t.Errorf("%d requests at a time, want 3", most.Load())
	}
}

// A server that knows only the protocol is asked without the rest.
func TestPlainServer(t *testing.T) {
	var bodies []string
	m := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), "min_p") {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: min_p"}}`)
			return
		}
		say(w, "application/json", whole)
	}), Options{})
	for range 2 {
		if response, err := m.Generate(t.Context(), question); err != nil || response.Text != "yes" {
			t.Fatalf("%+v, %v", response, err)
		}
	}
	if len(bodies) != 3 {
		t.Errorf("%d requests, want 3", len(bodies))
	}
	r := question
	r.TopK = 5
	if _, err := m.Generate(t.Context(), r); err == nil || !strings.Contains(err.Error(), "top-k") {
		t.Errorf("a top-k that is not taken: %v", err)
	}
}

// Requests that find out at the same time that a server is plain are all asked again.
func TestPlainServerAtOnce(t *testing.T) {
	const n = 4
	var refused sync.WaitGroup
	refused.Add(n)
	m := open(t, liar(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "min_p") {
			refused.Done()
			refused.Wait() // until all are there
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: min_p"}}`)
			return
		}
		say(w, "application/json", whole)
	}), Options{Parallel: n})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if response, err := m.Generate(t.Context(), question); err != nil || response.Text != "yes" {
				t.Errorf("%+v, %v", response, err)
			}
		})
	}
	all.Wait()
}

// What does not pass by itself is said at once, with the reason: nobody waits for a certificate.
func TestLastingFaults(t *testing.T) {
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	plain := liar(t, nil)
	for address, says := range map[string]string{
		secure.URL: "certificate",
		strings.Replace(plain, "http:", "https:", 1): "HTTPS",
		"http://127.0.0.1:1":                         "is it running",
		"http://no-such-host.invalid":                "no such host",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := Open(ctx, address, "m", Options{Backoff: time.Minute}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The key is not in the error of an answer that is no HTTP, which repeats it.
func TestKeyInGarbage(t *testing.T) {
	const secret = "sk-abcdefghijklmnop-1234567890"
	t.Setenv("MODELLOG_OPENAI_KEY", secret)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			// What comes before the request is asked for is another error, without the garbage.
			if _, err := http.ReadRequest(bufio.NewReader(nc)); err == nil {
				io.WriteString(nc, secret+" "+secret+"\r\n\r\n")
			}
			nc.Close()
		}
	}()
	_, err = Open(t.Context(), "http://"+l.Addr().String(), "m", Options{Retries: -1})
	if err == nil || strings.Contains(err.Error(), secret[:8]) || !strings.Contains(err.Error(), "[key]") {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	const secret = "sk-abcdefghijklmnop-1234567890"
	var got atomic.Value
	address := liar(t, func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("Authorization"))
		w.WriteHeader(401)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s (%s***%s)"}}`, secret, secret[:8], secret[len(secret)-4:])
	})
	// OpenAI's key is not for every server.
	t.Setenv("OPENAI_API_KEY", "sk-other-0000000000000000")
	if _, err := open(t, address, Options{}).Generate(t.Context(), question); err == nil || got.Load() != "" {
		t.Errorf("%v; sent %q", err, got.Load())
	}
	t.Setenv("OPENAI_BASE_URL", address+"/v1")
	if _, err := open(t, address, Options{}).Generate(t.Context(), question); err == nil || got.Load() != "Bearer sk-other-0000000000000000" {
		t.Errorf("%v; sent %q", err, got.Load())
	}
	t.Setenv("MODELLOG_OPENAI_KEY", secret)
	m := open(t, address, Options{})
	_, err := m.Generate(t.Context(), question)
	if err == nil || got.Load() != "Bearer "+secret {
		t.Fatalf("%v; sent %q", err, got.Load())
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", m.Info())} {
		if strings.Contains(text, secret) || strings.Contains(text, secret[:8]) || strings.Contains(text, secret[len(secret)-4:]) {
			t.Errorf("the key is in %q", text)
		}
	}
	if _, err := Open(t.Context(), "http://example.com/v1", "m", Options{}); err == nil || !strings.Contains(err.Error(), "unencrypted") || strings.Contains(err.Error(), secret) {
		t.Errorf("a key over the network in the clear: %v", err)
	}
	t.Setenv("MODELLOG_OPENAI_KEY", "two\nlines")
	if _, err := Open(t.Context(), address, "m", Options{}); err == nil || strings.Contains(err.Error(), "lines") {
		t.Errorf("a key of two lines: %v", err)
	}
}

func TestOpen(t *testing.T) {
	address := liar(t, nil)
	for _, bad := range []string{"", "localhost:8000", "ftp://x/v1", "http://", "http://user:secret@host/v1", "http://host/v1?key=secret", "http://[::1", "%zz"} {
		if _, err := Open(t.Context(), bad, "m", Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	m, err := Open(t.Context(), address+"/", "", Options{})
	if err != nil || m.Info().Name != "m" || m.Info().Path != address+"/v1" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Open(t.Context(), address, "other", Options{}); err == nil || !strings.Contains(err.Error(), "it has m") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), "http://127.0.0.1:1", "m", Options{Retries: -1}); err == nil || !strings.Contains(err.Error(), "is it running") {
		t.Errorf("%v", err)
	}
	if err := m.Read(t.Context(), [][]lm.Token{{1}}, nil); !errors.Is(err, ErrNoReadings) {
		t.Errorf("%v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Generate(t.Context(), question); err == nil {
		t.Error("a closed model wrote")
	}
}

// Whatever a server sends is an answer or an error, and never a panic.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(whole), false)
	f.Add([]byte(partOne+partTwo+last), true)
	f.Add([]byte(`{"choices":[{"index":0,"message":null,"delta":null,"text":null,"finish_reason":null}]}`), false)
	f.Add([]byte("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-1}}\n\ndata: [DONE]"), true)
	f.Add([]byte(`data: {"error":"x"}`), true)
	e := &endpoint{}
	e.base, _ = parse("http://localhost/v1")
	f.Fuzz(func(t *testing.T, body []byte, stream bool) {
		var response lm.Response
		a := &assembly{e: e, response: &response, stream: stream, w: lm.Writer{Stop: []string{"stop"}}}
		read := a.whole
		if stream {
			read = a.parts
		}
		err := read(strings.NewReader(string(body)))
		if err == nil && a.finish == "" || response.Prompt < 0 {
			t.Errorf("%q: no error and no end, %+v", body, response)
		}
	})
}
