package repl

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// plain reads lines without editing them.
type plain struct {
	prompt     io.Writer
	want       chan struct{}
	got        chan plainLine
	waiting    bool // a line has been asked for
	interrupts chan struct{}
	left       chan struct{}
	leave      func()
}

type plainLine struct {
	text string
	err  error
}

func newPlain(in io.Reader, prompt io.Writer) *plain {
	p := &plain{
		prompt:     prompt,
		want:       make(chan struct{}, 1),
		got:        make(chan plainLine, 1),
		interrupts: make(chan struct{}, 1),
	}
	p.left = make(chan struct{})
	p.leave = sync.OnceFunc(func() { close(p.left) })
	go func() {
		b := bufio.NewReaderSize(in, maxLine+2)
		for range p.want {
			p.got <- readPlain(b)
		}
	}()
	return p
}

// readPlain reads a line; of one that is too long only its end.
func readPlain(b *bufio.Reader) plainLine {
	line, err := b.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		for err == bufio.ErrBufferFull {
			_, err = b.ReadSlice('\n')
		}
		if err == nil {
			err = errTooLong
		}
		return plainLine{"", err}
	}
	if err != nil { // what is half typed does not run
		return plainLine{"", io.EOF}
	}
	return plainLine{strings.TrimRight(string(line), "\r\n"), nil}
}

func (p *plain) ReadLine(prompt string) (string, bool, error) {
	io.WriteString(p.prompt, prompt)
	if !p.waiting {
		p.waiting = true
		p.want <- struct{}{}
	}
	select {
	case l := <-p.got:
		p.waiting = false
		if errors.Is(l.err, io.EOF) {
			io.WriteString(p.prompt, "\n")
		}
		return l.text, false, l.err
	case <-p.interrupts:
		io.WriteString(p.prompt, "\n")
		return "", false, errInterrupted
	case <-p.left:
		return "", false, io.EOF
	}
}

func (p *plain) Interrupt() {
	select {
	case p.interrupts <- struct{}{}:
	default:
	}
}

func (p *plain) Leave() { p.leave() }

func (p *plain) Flush() {
	select {
	case <-p.interrupts:
	default:
	}
}

func (p *plain) Remember(string) {}

func (p *plain) Close() error { close(p.want); return nil }
