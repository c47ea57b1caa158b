package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// requestError is a refusal, in OpenAI's form.
type requestError struct {
	status  int
	kind    string // "invalid_request_error" where it is empty
	code    string
	param   string // the parameter that it is about; may be empty
	message string
}

func (e *requestError) Error() string { return e.message }

// invalid is a request that is not as it should be.
func invalid(param, code, format string, args ...any) *requestError {
	return &requestError{status: http.StatusBadRequest, param: param, code: code, message: fmt.Sprintf(format, args...)}
}

// failure is an error's form.
type failure struct {
	Error failureDetail `json:"error"`
}

type failureDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

func (e *requestError) form() failure {
	f := failure{failureDetail{Message: e.message, Type: e.kind, Code: e.code}}
	if e.kind == "" {
		f.Error.Type = "invalid_request_error"
	}
	if e.param != "" {
		f.Error.Param = &e.param
	}
	return f
}

// fail sends an error.
func fail(w http.ResponseWriter, e *requestError) {
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	send(w, e.status, e.form())
}

// send sends an answer. That the client has gone is nobody's concern.
func send(w http.ResponseWriter, status int, answer any) {
	data, err := marshal(answer)
	if err != nil { // a number that JSON does not have
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer cannot be written as JSON","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}

// marshal writes JSON that people can read, too: no < is escaped.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
