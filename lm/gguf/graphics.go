package gguf

import (
	"errors"

	"github.com/ollama/ollama/ml"
)

// ErrNoGPU is returned, wrapped, where [Options].GPU asks for what is not there.
var ErrNoGPU = errors.New("the engine finds no graphics processor; it has Metal on Macs, and elsewhere needs the libraries of an Ollama " + engineVersion + " installation: set OLLAMA_LIBRARY_PATH to their folders, as in /usr/lib/ollama:/usr/lib/ollama/cuda_v12, or leave out --gpu")

// graphics lists the graphics processors that the engine finds, of which the file at path is one that it has
// the architecture for.
func graphics(path string) (devices []ml.DeviceInfo, err error) {
	defer func() {
		if r := recover(); r != nil {
			devices, err = nil, enginePanic(r)
		}
	}()
	b, err := ml.NewBackend(path, ml.BackendParams{}) // it tells of devices only when it has a file
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if devices = b.BackendDevices(); len(devices) == 0 {
		return nil, ErrNoGPU
	}
	return devices, nil
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
