package readings

import (
	"bytes"
	"crypto/sha256"

	"encoding/binary"
)

// keyHash is what a row is found by.
type keyHash [sha256.Size]byte

func hashKey(key string) keyHash { return sha256.Sum256([]byte(key)) }

func lookupKey(keys map[keyHash]string, hash []byte) (string, bool) {
	if len(hash) != len(keyHash{}) {
		return "", false
	}
	key, ok := keys[keyHash(hash)]
	return key, ok
}

// checksum binds a value to its key. It is over the key itself, so that a row
// under a wrong hash does not match either.
func checksum(key string, value []byte) [sha256.Size]byte {
	h := sha256.New()
	// The key's length keeps (key, value) apart from every other split of the
	// same bytes, and the first word from any other use of SHA-256.
	h.Write([]byte("modellog reading 1\x00"))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(key))))
	h.Write([]byte(key))
	h.Write(value)
	return [sha256.Size]byte(h.Sum(nil))
}

func sumMatches(sum []byte, key string, value []byte) bool {
	want := checksum(key, value)
	return bytes.Equal(sum, want[:])
}
