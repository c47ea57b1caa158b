package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/ollama/ollama/fs/ggml"
	"github.com/ollama/ollama/ml"
)

// mostDevices is how many the engine's scheduler takes, of which one is the processor.
const mostDevices = 15

// graphics lists the graphics processors that the engine finds. It tells of their memory only where it has tensors
// on them or is asked for a dry run; and a dry run has it allocate nothing any more, for models that are loaded
// neither. So it is given a file with a tensor for each.
func graphics() (devices []ml.DeviceInfo, err error) {
	defer func() {
		if r := recover(); r != nil {
			devices, err = nil, enginePanic(r, true)
		}
	}()
	path, err := writeProbe()
	if err != nil {
		return nil, fmt.Errorf("looking for graphics processors: %w", err)
	}
	defer os.Remove(path)
	params := ml.BackendParams{AllocMemory: true}
	b, err := ml.NewBackend(path, params)
	if err != nil {
		return nil, fmt.Errorf("looking for graphics processors: %w", err)
	}
	found := b.BackendMemory().GPUs
	b.Close()
	if len(found) == 0 {
		return nil, noGPU(os.Getenv("OLLAMA_LIBRARY_PATH"))
	}
	for i, d := range found[:min(len(found), mostDevices)] {
		params.GPULayers = append(params.GPULayers, ml.GPULayers{DeviceID: d.DeviceID, Layers: []int{i}})
	}
	if b, err = ml.NewBackend(path, params); err != nil {
		return nil, fmt.Errorf("looking for graphics processors: %w", err)
	}
	defer b.Close()
	return distinctDevices(b.BackendDevices()), nil
}

// writeProbe writes a file of layers with one number each.
func writeProbe() (path string, err error) {
	f, err := os.CreateTemp("", "modellog-*.gguf")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			os.Remove(f.Name())
		}
	}()
	var tensors []*ggml.Tensor
	for i := range mostDevices {
		tensors = append(tensors, &ggml.Tensor{
			Name: fmt.Sprintf("blk.%d.weight", i), Kind: uint32(ggml.TensorTypeF32), Shape: []uint64{1}, WriterTo: bytes.NewReader(make([]byte, 4)),
		})
	}
	return f.Name(), ggml.WriteGGUF(f, ggml.KV{"general.architecture": "probe", "probe.block_count": uint32(mostDevices)}, tensors)
}

// distinctDevices leaves out a device that another of the engine's libraries found already, and those that are part
// of the processor where there are others: their memory is the machine's, and they would get most of the layers.
func distinctDevices(devices []ml.DeviceInfo) []ml.DeviceInfo {
	others := slices.ContainsFunc(devices, func(d ml.DeviceInfo) bool { return !d.Integrated })
	foundBy := make(map[string]string)
	var out []ml.DeviceInfo
	for _, d := range devices {
		if by, known := foundBy[d.PCIID]; d.Integrated && others || known && d.PCIID != "" && by != d.Library {
			continue
		}
		foundBy[d.PCIID] = d.Library
		out = append(out, d)
	}
	return out
}

// spread gives each device the layers that follow those of the one before, as many as its free memory is of
// the whole. The last layer is the output head.
func spread(layers int, devices []ml.DeviceInfo) ml.GPULayersList {
	var all, before uint64
	for _, d := range devices {
		all += d.FreeMemory
	}
	var out ml.GPULayersList
	next := 0
	for i, d := range devices {
		before += d.FreeMemory
		end := layers
		if i < len(devices)-1 {
			end = int(float64(layers)*float64(before)/float64(max(all, 1)) + 0.5)
		}
		on := ml.GPULayers{DeviceID: d.DeviceID}
		for ; next < end; next++ {
			on.Layers = append(on.Layers, next)
		}
		if len(on.Layers) > 0 {
			out = append(out, on)
		}
	}
	return out
}
