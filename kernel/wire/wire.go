// Package wire is Jupyter's messaging protocol, version 5.4, as it goes over the
// sockets: messages in frames, signed with HMAC-SHA256, the connection file,
// and the five sockets of a kernel.
//
// The four parts of a message are kept as the JSON that came, so that a message
// can be passed on with nothing lost. A message whose signature is wrong, that
// has no delimiter or too few frames, or whose parts are no JSON objects is an error
// of [Signer.Decode]; a kernel drops it.
package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version is the protocol's version.
const Version = "5.4"

// delimiter ends the identities.
const delimiter = "<IDS|MSG>"

// Header says what a message is and where it comes from.
type Header struct {
	MsgID    string `json:"msg_id"`
	Username string `json:"username"`
	Session  string `json:"session"`
	Date     string `json:"date"`
	MsgType  string `json:"msg_type"`
	Version  string `json:"version"`
}

// Message is a message of the protocol.
type Message struct {
	Identities [][]byte // whom a router's message comes from or goes to; of IOPub: the topic
	Header     Header
	RawHeader  json.RawMessage // what Header was read from; Header counts where this is nil
	Parent     json.RawMessage // header of the message that this belongs to, or {}
	Metadata   json.RawMessage
	Content    json.RawMessage
	Buffers    [][]byte
}

// Kinds of messages that are no messages.
var (
	ErrNoDelimiter = errors.New("a message without a delimiter")
	ErrTooShort    = errors.New("a message with too few frames")
	ErrSignature   = errors.New("a message with a wrong signature")
)

// maxPart is how long header, parent header and metadata can each be. Contents
// are as long as the socket lets them.
const maxPart = 16 << 20

// Signer signs messages and checks signatures.
type Signer struct{ key []byte }

// NewSigner returns a signer for a connection's key. With an empty key, messages
// are neither signed nor checked.
func NewSigner(key string) *Signer { return &Signer{[]byte(key)} }

func (s *Signer) sign(parts [][]byte) []byte {
	if len(s.key) == 0 {
		return []byte{}
	}
	mac := hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// Encode returns a message's frames.
func (s *Signer) Encode(m *Message) ([][]byte, error) {
	header := []byte(m.RawHeader)
	if header == nil {
		var err error
		if header, err = json.Marshal(m.Header); err != nil {
			return nil, fmt.Errorf("encoding the header of a message: %w", err)
		}
	}
	parts := [][]byte{header, orEmpty(m.Parent), orEmpty(m.Metadata), orEmpty(m.Content)}
	frames := make([][]byte, 0, len(m.Identities)+6+len(m.Buffers))
	frames = append(frames, m.Identities...)
	frames = append(frames, []byte(delimiter), s.sign(parts))
	frames = append(frames, parts...)
	return append(frames, m.Buffers...), nil
}

func orEmpty(part json.RawMessage) []byte {
	if len(part) == 0 {
		return []byte("{}")
	}
	return part
}

// Decode reads a message's frames, which it keeps.
func (s *Signer) Decode(frames [][]byte) (*Message, error) {
	at := -1
	for i, f := range frames {
		if string(f) == delimiter {
			at = i
			break
		}
	}
	if at < 0 {
		return nil, ErrNoDelimiter
	}
	rest := frames[at+1:]
	if len(rest) < 5 {
		return nil, ErrTooShort
	}
	signature, parts := rest[0], rest[1:5]
	if len(s.key) > 0 && !hmac.Equal(s.sign(parts), bytes.ToLower(signature)) {
		return nil, ErrSignature
	}
	for i, name := range []string{"header", "parent header", "metadata", "content"} {
		if i < 3 && len(parts[i]) > maxPart {
			return nil, fmt.Errorf("a message whose %s has %d MB", name, len(parts[i])>>20)
		}
		if !isObject(parts[i]) {
			return nil, fmt.Errorf("a message whose %s is no JSON object", name)
		}
	}
	m := &Message{
		Identities: frames[:at:at],
		RawHeader:  parts[0],
		Parent:     parts[1],
		Metadata:   parts[2],
		Content:    parts[3],
		Buffers:    rest[5:],
	}
	if err := json.Unmarshal(m.RawHeader, &m.Header); err != nil {
		return nil, fmt.Errorf("a message with an odd header: %w", err)
	}
	if m.Header.MsgID == "" || m.Header.MsgType == "" {
		return nil, errors.New("a message whose header has no msg_id or msg_type")
	}
	return m, nil
}

// isObject reports whether a part is a JSON object.
func isObject(part []byte) bool {
	trimmed := bytes.TrimLeft(part, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(part)
}

// ParentID returns the id of the message that m belongs to, or "".
func (m *Message) ParentID() string {
	var h struct {
		MsgID string `json:"msg_id"`
	}
	// What has no such id belongs to nothing.
	_ = json.Unmarshal(m.Parent, &h)
	return h.MsgID
}

// NewHeader returns the header of a new message.
func NewHeader(session, msgType string) Header {
	return Header{
		MsgID:    NewID(),
		Username: "modellog",
		Session:  session,
		Date:     time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		MsgType:  msgType,
		Version:  Version,
	}
}

// NewID returns a random identifier in the form of a UUID, version 4.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
