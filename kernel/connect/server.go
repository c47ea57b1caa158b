package connect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// lines reads lines of the protocol.
func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	return s
}

// Session is what a server serves. Its methods are called from several
// goroutines.
type Session interface {
	// Eval evaluates a program; with only, one that consists of definitions.
	// An error that is an *Error keeps its place.
	Eval(ctx context.Context, program string, only bool, emit func(Result) error) error
	Names() []Name
	Model() (json.RawMessage, error)
}

// Server answers clients at a listener.
type Server struct {
	l       net.Listener
	session Session
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// maxClients is how many clients can be connected.
const maxClients = 64

// Serve answers clients at a listener, which it closes in the end.
func Serve(l net.Listener, session Session) *Server {
	s := &Server{l: l, session: session}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s
}

// Close ends all connections and stops what is under way.
func (s *Server) Close() error {
	s.cancel()
	err := s.l.Close()
	s.wg.Wait()
	return err
}

func (s *Server) accept() {
	free := make(chan struct{}, maxClients)
	for {
		nc, err := s.l.Accept()
		if s.ctx.Err() != nil {
			if err == nil {
				nc.Close()
			}
			return
		}
		if err != nil {
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		select {
		case free <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-free }()
				s.serve(nc)
			})
		default:
			nc.Close()
		}
	}
}

// serve answers one client.
func (s *Server) serve(nc net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { nc.Close() })()
	var (
		mu      sync.Mutex // guards writing and running
		running = map[int64]context.CancelFunc{}
		wg      sync.WaitGroup
	)
	respond := func(r Response) error {
		data, err := json.Marshal(r)
		if err == nil && len(data) >= maxLine {
			err = fmt.Errorf("a result of %d MB is too long", len(data)>>20)
		}
		if err != nil {
			if data, err = json.Marshal(Response{ID: r.ID, End: r.End, Error: &Error{Message: err.Error()}}); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		// A client that does not read holds up only itself, and not for ever.
		nc.SetWriteDeadline(time.Now().Add(30 * time.Second))
		if _, err = nc.Write(append(data, '\n')); err != nil {
			cancel()
		}
		return err
	}
	defer wg.Wait()
	defer cancel()
	turn := make(chan struct{}) // closed when the request before is over
	close(turn)
	in := lines(nc)
	for in.Scan() {
		var r Request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			respond(Response{End: true, Error: &Error{Message: "reading a request: " + err.Error()}})
			continue
		}
		if r.Op == "cancel" {
			mu.Lock()
			if stop := running[r.Of]; stop != nil {
				stop()
			}
			mu.Unlock()
			continue
		}
		own, stop := context.WithCancel(ctx)
		mu.Lock()
		const maxRunning = 1000
		if running[r.ID] != nil || len(running) >= maxRunning {
			mu.Unlock()
			stop()
			respond(Response{ID: r.ID, End: true, Error: &Error{Message: fmt.Sprintf("request %d is under way already, or too many are", r.ID)}})
			continue
		}
		running[r.ID] = stop
		mu.Unlock()
		before, after := turn, make(chan struct{})
		turn = after
		wg.Go(func() {
			defer close(after)
			<-before
			end := s.answer(own, r, respond)
			mu.Lock()
			delete(running, r.ID)
			mu.Unlock()
			stop()
			respond(end)
		})
	}
	if err := in.Err(); err != nil && ctx.Err() == nil {
		respond(Response{End: true, Error: &Error{Message: "reading a request: " + err.Error()}})
	}
}

// answer answers a request but for its end, which it returns.
func (s *Server) answer(ctx context.Context, r Request, respond func(Response) error) Response {
	end := Response{ID: r.ID, End: true}
	var err error
	switch r.Op {
	case "eval", "define":
		err = s.session.Eval(ctx, r.Program, r.Op == "define", func(result Result) error {
			if r.Op == "define" {
				return nil
			}
			return respond(Response{ID: r.ID, Result: result.JSON, Data: result.Data})
		})
	case "names":
		end.Names = s.session.Names()
	case "model":
		end.Model, err = s.session.Model()
	default:
		err = fmt.Errorf("there is no operation %q", r.Op)
	}
	if err != nil {
		e, ok := err.(*Error)
		if !ok {
			e = &Error{Message: err.Error()}
		}
		end.Error = e
	}
	return end
}
