package gguf

/*
#include <stdbool.h>

// Of ggml.h and ggml-impl.h; what follows the buffer is not looked at.
struct ggml_tensor {
	int type;
	void *buffer;
};
bool ggml_backend_buffer_is_host(void *);
void *ggml_get_data(const struct ggml_tensor *);

static float *modellog_data(const struct ggml_tensor *t) {
	return t->type == 0 && t->buffer && ggml_backend_buffer_is_host(t->buffer) ? ggml_get_data(t) : 0; // 0 is GGML_TYPE_F32
}
*/
import "C"

import (
	"reflect"
	"unsafe"

	"github.com/ollama/ollama/ml"
)

// borrowed returns the numbers of a row that has been computed where they lie, as long as its context is open and
// computes nothing more; nil where that is another device's memory.
func borrowed(row ml.Tensor) []float32 {
	t := reflect.ValueOf(row).Elem().FieldByName("t")
	if !t.IsValid() || t.Kind() != reflect.Pointer {
		return nil
	}
	data := C.modellog_data((*C.struct_ggml_tensor)(t.UnsafePointer()))
	if data == nil {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(data)), row.Dim(0))
}
