package logic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// random3CNF has 4.26 clauses a variable, where satisfiable and unsatisfiable meet.
func random3CNF(n int) *Formula {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var fs []*Formula
	for range int(4.26 * float64(n)) {
		var c []*Formula
		for _, v := range r.Perm(n)[:3] {
			f := lit(v)
			if r.IntN(2) == 0 {
				f = Not(f)
			}
			c = append(c, f)
		}
		fs = append(fs, Or(c...))
	}
	return And(fs...)
}

// product says that two numbers of n bits have the product whose bits are ones, by an array of full adders.
func product(n int) *Formula {
	sum := make([]*Formula, 2*n)
	for i := range sum {
		sum[i] = False()
	}
	for i := range n {
		carry := False()
		for j := range n {
			p := And(lit(i), lit(n+j))
			s := Xor(sum[i+j], p, carry)
			carry = AtLeast(2, sum[i+j], p, carry)
			sum[i+j] = s
		}
		sum[i+n] = carry
	}
	return And(sum...)
}

func explosions() map[string]*Formula {
	wide, _ := grid(40, 40)
	return map[string]*Formula{"random 3-CNF": random3CNF(400), "multiplication": product(28), "grid": wide}
}

// asProcess is set in the process that compiles and whose memory is looked at; its value is the limit.
const asProcess = "MODELLOG_TEST_EXPLOSION"

// A compilation that would take more than its limit ends with an error that says so, what there was by
// then, and what to do; the process never holds much more than the limit amounts to.
func TestMemory(t *testing.T) {
	if limit, err := strconv.Atoi(os.Getenv(asProcess)); err == nil {
		for name, f := range explosions() {
			if name == os.Getenv(asProcess+"_OF") {
				_, err := Compile(context.Background(), f, WithNodeLimit(limit))
				fmt.Println(errors.Is(err, ErrTooLarge), err)
				if status, err := os.ReadFile("/proc/self/status"); err == nil {
					fmt.Printf("%s\n", status)
				}
			}
		}
		return
	}
	for name := range explosions() {
		for _, limit := range []int{50_000, 400_000} {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMemory$")
			cmd.Env = append(os.Environ(), asProcess+"="+strconv.Itoa(limit), asProcess+"_OF="+name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
			want := fmt.Sprintf(`true compiling a formula of \d+ variables: formula too large to compile: the limit of %d nodes .* reached, with \d+ nodes of the diagram made in \d+ steps; split .* or raise the limit\n`, limit)
			if !regexp.MustCompile(want).Match(out) {
				t.Errorf("%s: %s", name, out)
			}
			// What the system tells of an ended process has the memory of the one that started it in it.
			told := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(out)
			if told == nil {
				t.Skip("this system does not tell of a process's memory")
			}
			peak, err := strconv.ParseInt(string(told[1]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			peak <<= 10
			// Go's collector lets garbage be as much as what is in use; the formula and the program are besides.
			most := 2*250*limit + 100<<20
			if peak > int64(most) {
				t.Errorf("%s with a limit of %d: %d MB, and at most %d were expected", name, limit, peak>>20, most>>20)
			}
			t.Logf("%s with a limit of %d: %d MB", name, limit, peak>>20)
		}
	}
}

// A compilation that would take hours ends soon after its context, wherever it is.
func TestCompilationIsCancelled(t *testing.T) {
	fs := explosions()
	// Of hundreds of siblings that exclude each other a single step looks at tens of thousands of clauses.
	siblings, _ := taxonomy(3000, 300)
	order, _ := order(16)
	fs["siblings"], fs["order"] = And(siblings, random3CNF(200)), order
	for name, f := range fs {
		for _, after := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 300 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(context.Background(), after)
			start := time.Now()
			_, err := Compile(ctx, f, WithNodeLimit(1<<30))
			took := time.Since(start)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			if took > after+400*time.Millisecond {
				t.Errorf("%s: it ended %v after its context", name, took-after)
			}
		}
	}
}
