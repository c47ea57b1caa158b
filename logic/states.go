package logic

import (
	"math"
	"slices"
)

// held is what an attempt has by now, and may have.
type held struct {
	s                     *store
	bytes, states         int
	mostBytes, mostStates int
}

func newHeld(s *store) held { return held{s: s, mostBytes: math.MaxInt, mostStates: math.MaxInt} }

func (h *held) share(bytes, states int) { h.mostBytes, h.mostStates = bytes, states }

func (h *held) full() bool { return h.bytes > h.mostBytes || h.states > h.mostStates }

// hold counts more bytes, which may be less.
func (h *held) hold(bytes int) {
	h.bytes += bytes
	h.s.other += bytes
}

// leave tells the store that it is all gone.
func (h *held) leave() { h.hold(-h.bytes) }

// A stateTable has the states that compiling with residuals has met, each a list of residuals at a place, and what
// became of them.
type stateTable struct {
	held
	key     []uint32 // arena of the residuals
	made    []state
	table   []uint32 // of their numbers by their residuals, plus 1; 0 is empty
	deepest int      // how many frames there have been at a time
}

type state struct {
	off, n uint32
	at     int32
	result edge // edgeStop while it is being compiled
}

// frameBytes is what a frame of either stack takes.
const frameBytes = 88

func newStateTable(s *store) stateTable {
	return stateTable{held: newHeld(s), table: make([]uint32, 64)}
}

// slot returns where the table has the state of these residuals, or has room for it.
func (t *stateTable) slot(at int32, residuals []fedge) uint64 {
	mask := uint64(len(t.table) - 1)
	i := hashList(residuals, uint64(at)+1) & mask
	for t.table[i] != 0 {
		if st := &t.made[t.table[i]-1]; st.at == at && slices.Equal(t.residuals(st), residuals) {
			break
		}
		i = (i + 1) & mask
	}
	return i
}

func (t *stateTable) residuals(st *state) []fedge { return t.key[st.off : st.off+st.n] }

// add puts a new state in its slot and returns its number.
func (t *stateTable) add(slot uint64, at int32, residuals []fedge) uint32 {
	t.made = append(t.made, state{uint32(len(t.key)), uint32(len(residuals)), at, edgeStop})
	t.key = append(t.key, residuals...)
	t.table[slot] = uint32(len(t.made))
	if 2*len(t.made) > len(t.table) {
		t.table = make([]uint32, 2*len(t.table))
		for id := range t.made {
			st := &t.made[id]
			t.table[t.slot(st.at, t.residuals(st))] = uint32(id) + 1
		}
	}
	t.states++
	if t.hold(4*len(residuals) + 24); len(t.made)&255 == 0 && t.s.bytes() > t.s.quota || len(t.key) > math.MaxInt32 {
		t.s.over = true
	}
	return uint32(len(t.made) - 1)
}

// deep counts the memory of a stack of so many frames.
func (t *stateTable) deep(frames int) {
	if frames > t.deepest {
		t.deepest = frames
		t.hold(frameBytes)
	}
}
