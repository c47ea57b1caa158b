package probct

func Card(m *BuildManifest, t *Templates) ([]byte, error) { return []byte("card\n"), nil }
