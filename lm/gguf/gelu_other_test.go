//go:build !linux

package gguf

// moves is how far readings may be from each other that add up in another order: Gemma's, whose activations are looked
// up in a table of 16 bits.
const moves = 0.01
