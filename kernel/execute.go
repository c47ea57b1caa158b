package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
)

// executeRequest is the content of an execute_request.
type executeRequest struct {
	Code            *string           `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    *bool             `json:"store_history"` // !Silent by default
	UserExpressions map[string]string `json:"user_expressions"`
	AllowStdin      bool              `json:"allow_stdin"`
	StopOnError     *bool             `json:"stop_on_error"` // true by default
}

// failure is an error as Jupyter shows it.
type failure struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// reply is the content of an execute_reply.
func (f failure) reply(count int) map[string]any {
	return map[string]any{
		"status": "error", "execution_count": count, "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback,
		"user_expressions": map[string]any{}, "payload": []any{},
	}
}

// cell is a cell that runs.
type cell struct {
	k          *Kernel
	request    *wire.Message
	count      int
	silent     bool
	allowStdin bool
	ctx        context.Context
	cancel     context.CancelCauseFunc
	out        *outputs
	goErrors   goErrors
}

// execute runs a cell.
func (k *Kernel) execute(j *job) {
	m := j.m
	if j.aborted {
		k.reply(k.sockets.Shell, m, "execute_reply", map[string]any{
			"status": "aborted", "execution_count": k.count, "user_expressions": map[string]any{}, "payload": []any{},
		})
		return
	}
	var r executeRequest
	if err := json.Unmarshal(m.Content, &r); err != nil || r.Code == nil {
		if err == nil {
			err = errors.New("there is no code")
		}
		f := failure{"ProtocolError", fmt.Sprintf("reading an execute_request: %v", err), []string{}}
		k.publish(m, "error", f)
		k.reply(k.sockets.Shell, m, "execute_reply", f.reply(k.count))
		return
	}
	code := *r.Code
	store := !r.Silent && (r.StoreHistory == nil || *r.StoreHistory)
	if store {
		k.count++
	}
	c := &cell{k: k, request: m, count: k.count, silent: r.Silent, allowStdin: r.AllowStdin}
	c.ctx, c.cancel = context.WithCancelCause(k.ctx)
	defer c.cancel(nil)
	c.out = newOutputs(c)
	if !c.silent {
		k.publish(m, "execute_input", map[string]any{"code": code, "execution_count": c.count})
	}
	k.mu.Lock()
	k.running = c
	held := k.held
	if !c.silent {
		k.held = nil
	}
	k.mu.Unlock()
	if !c.silent {
		for _, w := range held {
			c.out.stream("stderr", w)
		}
	}

	var content map[string]any
	var f *failure
	if isGo(code) {
		content, f = k.goCells.run(c, m, code, store)
	} else if beside, ok := besideGo(code); ok {
		why := fmt.Sprintf("%s is the whole of a Go cell's first line; %q belongs to the next line", goMark, beside)
		f = &failure{"Error", why, []string{why}}
	} else if f = k.eval(c.ctx, code, c.out.result); f == nil {
		content = map[string]any{"status": "ok", "payload": []any{}, "user_expressions": k.expressions(c.ctx, r.UserExpressions)}
	}
	if c.ctx.Err() != nil {
		k.sockets.IOPub.Shed() // nobody waits for the output of what was stopped
	}
	if n := k.sockets.IOPub.Lost(); n > 0 {
		k.sockets.IOPub.Shed() // or this were left out, too
		c.out.stream("stderr", fmt.Sprintf("output is left out, %d messages of it: the front-end has not kept up\n", n))
	}
	c.out.finish()
	k.mu.Lock()
	k.running = nil
	k.mu.Unlock()
	if store {
		k.past.add(c.count, code, c.out.last)
	}

	if f != nil {
		if content == nil { // GoNB has published its own
			c.out.publish("error", f)
		}
		content = f.reply(c.count)
		if r.StopOnError == nil || *r.StopOnError {
			k.queue.abort(m.Header.Session)
		}
	}
	content["execution_count"] = c.count
	k.reply(k.sockets.Shell, m, "execute_reply", content)
}

// eval evaluates a program in the session.
func (k *Kernel) eval(ctx context.Context, code string, emit func(lang.Result) error) *failure {
	k.evaluating.Lock()
	defer k.evaluating.Unlock()
	err := k.evalLocked(ctx, code, emit)
	return asFailure(ctx, err)
}

func (k *Kernel) evalLocked(ctx context.Context, code string, emit func(lang.Result) error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			k.logf("fault in a cell: %v\n%s", fault, debug.Stack())
			err = fmt.Errorf("a fault of modellog itself: %v; the session goes on, please report it", fault)
		}
	}()
	return k.session.Eval(ctx, "", code, emit)
}

// asFailure is what is shown of an error, nil for none.
func asFailure(ctx context.Context, err error) *failure {
	if err == nil {
		return nil
	}
	var mistake *lang.Error
	switch cause := context.Cause(ctx); {
	case ctx.Err() != nil && (errors.Is(err, cause) || errors.Is(err, ctx.Err())):
		return &failure{"Interrupted", cause.Error(), []string{cause.Error()}}
	case errors.As(err, &mistake):
		return &failure{"Error", mistake.Error(), strings.Split(mistake.Detail(), "\n")}
	}
	return &failure{"Error", err.Error(), strings.Split(err.Error(), "\n")}
}

// expressions evaluates the user_expressions of a request.
func (k *Kernel) expressions(ctx context.Context, exprs map[string]string) map[string]any {
	out := map[string]any{}
	for name, expr := range exprs {
		var last lang.Result
		f := k.eval(ctx, expr, func(r lang.Result) error { last = r; return nil })
		data := map[string]string{}
		if f == nil && last != nil {
			var err error
			if data, err = lang.Forms(last); err != nil {
				f = asFailure(ctx, err)
			}
		}
		if f != nil {
			out[name] = map[string]any{"status": "error", "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback}
		} else {
			out[name] = map[string]any{"status": "ok", "data": data, "metadata": map[string]any{}}
		}
	}
	return out
}

func stack() []byte { return debug.Stack() }
