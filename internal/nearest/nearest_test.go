package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"dog", "mammal", "reptile", "gemma3:270m-pt", "ä"}
	for _, test := range []struct{ name, want string }{
		{"dgo", "dog"}, // two letters swapped
		{"DOG", "dog"},
		{"dog", ""}, // the very name is no correction
		{"mamal", "mammal"},
		{"mammals", "mammal"},
		{"reptlie", "reptile"},
		{"gema3:270m-pt", "gemma3:270m-pt"},
		{"cat", ""},
		{"b", ""},
		{"", ""},
		{strings.Repeat("x", 1<<20), ""},
	} {
		if got := Name(test.name, names); got != test.want {
			t.Errorf("Name(%.20q) = %q, want %q", test.name, got, test.want)
		}
	}
	if got := Name("ab", []string{"abc", "abd"}); got != "abc" {
		t.Errorf("of equally near names %q was taken, not the first", got)
	}
}
