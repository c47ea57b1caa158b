package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSigner(rapid.StringN(0, 40, -1).Draw(t, "key"))
		content, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "content"))
		if err != nil {
			t.Fatal(err)
		}
		bytesOf := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 3)
		m := &Message{
			Identities: bytesOf.Draw(t, "identities"),
			Header:     NewHeader("session", rapid.StringN(1, 30, -1).Draw(t, "type")),
			Content:    content,
			Buffers:    bytesOf.Draw(t, "buffers"),
		}
		frames, err := s.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Decode(frames)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(frames) {
			t.Fatalf("%d frames became %d", len(frames), len(again))
		}
		for i := range frames {
			if !bytes.Equal(frames[i], again[i]) {
				t.Fatalf("frame %d: %q became %q", i, frames[i], again[i])
			}
		}
		if got.Header != m.Header {
			t.Fatalf("header %+v became %+v", m.Header, got.Header)
		}
	})
}

// TestKnownSignature compares with a signature that Python's hmac made:
// hmac.new(b"secret", b'{"msg_id":"1","msg_type":"x"}' + b"{}{}{}", "sha256").
func TestKnownSignature(t *testing.T) {
	frames := [][]byte{[]byte(delimiter), []byte("ba3ba2b3dc867d1fbaab74cc2777c2374a910813a098f2478060c08ce81b6966"),
		[]byte(`{"msg_id":"1","msg_type":"x"}`), []byte("{}"), []byte("{}"), []byte("{}")}
	if _, err := NewSigner("secret").Decode(frames); err != nil {
		t.Error(err)
	}
	for i := 2; i < 6; i++ {
		forged := append([][]byte{}, frames...)
		forged[i] = append([]byte(" "), frames[i]...)
		if _, err := NewSigner("secret").Decode(forged); !errors.Is(err, ErrSignature) {
			t.Errorf("frame %d forged: %v", i, err)
		}
	}
	if _, err := NewSigner("other").Decode(frames); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: %v", err)
	}
}

func TestDecodeErrors(t *testing.T) {
	f := func(parts ...string) (out [][]byte) {
		for _, p := range parts {
			out = append(out, []byte(p))
		}
		return out
	}
	h := `{"msg_id":"1","msg_type":"x"}`
	for _, c := range []struct {
		frames [][]byte
		want   string
	}{
		{nil, "delimiter"},
		{f("id", "sig", h, "{}", "{}", "{}"), "delimiter"},
		{f(delimiter), "too few"},
		{f("id", delimiter, "", h, "{}", "{}"), "too few"},
		{f(delimiter, "", "[]", "{}", "{}", "{}"), "header is no JSON object"},
		{f(delimiter, "", h, "", "{}", "{}"), "parent header is no JSON object"},
		{f(delimiter, "", h, "{}", "null", "{}"), "metadata is no JSON object"},
		{f(delimiter, "", h, "{}", "{}", `{"a":`), "content is no JSON object"},
		{f(delimiter, "", `{"msg_id":7,"msg_type":"x"}`, "{}", "{}", "{}"), "odd header"},
		{f(delimiter, "", `{"msg_id":"1"}`, "{}", "{}", "{}"), "no msg_id or msg_type"},
		{f(delimiter, "", h, "{}", "{}", strings.Repeat("[", 100_000)), "no JSON object"},
	} {
		if _, err := NewSigner("").Decode(c.frames); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want one about %q", c.frames, err, c.want)
		}
	}
}

func TestReadConnection(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kernel-1.json")
	good := map[string]any{
		"transport": "tcp", "ip": "127.0.0.1", "shell_port": 1001, "control_port": 1002, "stdin_port": 1003,
		"iopub_port": 1004, "hb_port": 1005, "signature_scheme": "hmac-sha256", "key": "k", "jupyter_session": "x",
	}
	write := func(change func(map[string]any)) {
		m := map[string]any{}
		for k, v := range good {
			m[k] = v
		}
		change(m)
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(func(map[string]any) {})
	c, err := ReadConnection(path)
	if err != nil {
		t.Fatal(err)
	}
	if network, address := c.Address(c.IOPubPort); network != "tcp" || address != "127.0.0.1:1004" {
		t.Errorf("IOPub at %s %s", network, address)
	}
	c.Transport, c.IP = "ipc", "/run/k"
	if network, address := c.Address(1); network != "unix" || address != "/run/k-1" {
		t.Errorf("ipc at %s %s", network, address)
	}
	for want, change := range map[string]func(map[string]any){
		"transport":        func(m map[string]any) { m["transport"] = "udp" },
		"signature scheme": func(m map[string]any) { m["signature_scheme"] = "hmac-md5" },
		"heartbeat port":   func(m map[string]any) { delete(m, "hb_port") },
		"same port":        func(m map[string]any) { m["hb_port"] = 1001 },
		"cannot unmarshal": func(m map[string]any) { m["key"] = 7 },
	} {
		write(change)
		if _, err := ReadConnection(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	os.WriteFile(path, bytes.Repeat([]byte(" "), maxConnectionFile+1), 0o600)
	if _, err := ReadConnection(path); err == nil || !strings.Contains(err.Error(), "64 KB") {
		t.Errorf("too long a file: %v", err)
	}
	if _, err := ReadConnection(filepath.Join(dir, "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestListenIPC checks that a dead kernel's socket files are no obstacle, and
// a living one's are.
func TestListenIPC(t *testing.T) {
	c := Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), ShellPort: 1, ControlPort: 2, StdinPort: 3, IOPubPort: 4, HeartbeatPort: 5}
	dead, err := net.Listen("unix", c.IP+"-2")
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	s, err := Listen(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(c, nil); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second kernel at the same place: %v", err)
	}
	st, err := os.Stat(c.IP + "-1")
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzDecode checks that no frames make Decode panic, and that what it accepts
// can be encoded again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("id\x01<IDS|MSG>\x01\x01{\"msg_id\":\"1\",\"msg_type\":\"x\"}\x01{}\x01{}\x01{}"), "")
	f.Add([]byte("<IDS|MSG>\x01"), "key")
	f.Add([]byte(""), "")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		s := NewSigner(key)
		m, err := s.Decode(bytes.Split(data, []byte{1}))
		if err != nil {
			return
		}
		frames, err := s.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Decode(frames); err != nil {
			t.Fatalf("accepted, but not again: %v", err)
		}
	})
}
