/* A CUDA driver that runs nothing: memory is memory of the host, copies are made, launches are counted.

   What a program asks of the driver by names that are not here succeeds and does nothing.  MINIGRAD_STUB_MEMORY is how
   many bytes there are; memory that is given back is kept until the pool is trimmed, as a driver's pool does.  Copies
   are made at once, so it cannot show what an order is missing, but what was asked for: `stub_asked` counts calls. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int Status;
#define API __attribute__((visibility("default")))
enum { SUCCESS = 0, OUT_OF_MEMORY = 2, USED_NOW = 7, USED_HIGH = 8, HELD_NOW = 5, HELD_HIGH = 6 };

static char context[64];
static size_t all, used, used_high, held, held_high;
static struct { const char *name; long calls; } asked[64];

static void note(const char *name) {
    for (int i = 0; i < 64; i++) {
        if (!asked[i].name) asked[i].name = strdup(name);
        if (!strcmp(asked[i].name, name)) { asked[i].calls++; return; }
    }
}

API long stub_asked(const char *name) {
    for (int i = 0; i < 64 && asked[i].name; i++)
        if (!strcmp(asked[i].name, name)) return asked[i].calls;
    return 0;
}

static Status nothing(void) { return SUCCESS; }
static Status version(int *v) { *v = 13000; return SUCCESS; }
static Status one(int *n) { *n = 1; return SUCCESS; }
static Status device(int *d, int k) { *d = k; return SUCCESS; }
static Status zero(int *d) { *d = 0; return SUCCESS; }
static Status name_of(char *text, int n, int d) { strncpy(text, "stub", n); return SUCCESS; }
static Status uuid(char *u, int d) { memset(u, 1, 16); return SUCCESS; }
static Status a_context(void **p) { *p = context; return SUCCESS; }
static Status handle(void **p) { *p = malloc(64); return SUCCESS; }
static Status attribute(int *v, int a, int d) {
    *v = a == 75 ? 9 : a == 76 ? 0 : a == 16 ? 132 : a == 10 ? 32 : a == 1 ? 1024 : 1;
    return SUCCESS;
}
static Status priorities(int *least, int *greatest) { *least = 0; *greatest = -5; return SUCCESS; }
static Status text_of(int e, const char **s) {
    *s = e == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_STUB";
    return SUCCESS;
}

/* ---- memory: a piece knows its size, and those that came back are only counted */

static size_t rounded(size_t n) { return (n + 511) & ~(size_t)511; }

static Status allocate(uint64_t *p, size_t n) {
    size_t size = rounded(n), total;
    const char *limit = getenv("MINIGRAD_STUB_MEMORY");
    all = total = limit ? strtoull(limit, 0, 10) : (size_t)140 << 30;
    note("allocate");
    if (used + size > held) {
        if (held + size > total) return OUT_OF_MEMORY; /* what is kept has other sizes */
        held += size;
    }
    size_t *piece = aligned_alloc(512, size + 512);
    if (!piece) return OUT_OF_MEMORY;
    *piece = size;
    used += size;
    if (used > used_high) used_high = used;
    if (held > held_high) held_high = held;
    *p = (uint64_t)piece + 512;
    return SUCCESS;
}
static Status give_back(uint64_t p) {
    size_t *piece = (size_t *)(p - 512);
    note("free");
    used -= *piece;
    free(piece);
    return SUCCESS;
}
static Status trim(void *pool, size_t keep) { note("trim"); held = used; return SUCCESS; }
static Status memory(size_t *f, size_t *t) {
    const char *limit = getenv("MINIGRAD_STUB_MEMORY");
    *t = limit ? strtoull(limit, 0, 10) : (size_t)140 << 30;
    *f = *t - held;
    return SUCCESS;
}
static Status pool_attribute(void *pool, int a, uint64_t *v) {
    *v = a == USED_NOW ? used : a == USED_HIGH ? used_high : a == HELD_NOW ? held : a == HELD_HIGH ? held_high : 0;
    return SUCCESS;
}
static Status set_pool_attribute(void *pool, int a, uint64_t *v) {
    if (a == USED_HIGH) used_high = used;
    if (a == HELD_HIGH) held_high = held;
    return SUCCESS;
}
static Status host_memory(void **p, size_t n) { note("pinned"); *p = malloc(n); return SUCCESS; }
static Status free_host(void *p) { note("unpinned"); free(p); return SUCCESS; }
static Status copy_in(uint64_t to, const void *from, size_t n) { note("copy in"); memcpy((void *)to, from, n); return 0; }
static Status copy_out(void *to, uint64_t from, size_t n) { note("copy out"); memcpy(to, (void *)from, n); return 0; }
static Status where(void *out, int a, uint64_t p) { *(uint64_t *)out = p; return SUCCESS; }

/* ---- order: events know when they were recorded */

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
static Status record(double *e) { note("record"); *e = now(); return SUCCESS; }
static Status elapsed(float *ms, double *a, double *b) { *ms = (float)(*b - *a); return SUCCESS; }
static Status wait(void *stream, void *event) { note("wait"); return SUCCESS; }
static Status stream(void **p) { note("stream"); return handle(p); }
static Status sync(void) { note("sync"); return SUCCESS; }
static Status capturing(void *stream, int *status) { *status = 0; return SUCCESS; }
static Status launch(void) { note("launch"); return SUCCESS; }

/* ---- graphs: a chain of kernels, each with its first argument, as the last launch of a graph has read it */

typedef struct { void *func; unsigned grid[3], block[3], shared; void **arguments; void **extra; void *kernel; void *context; } Kernel;
static struct { uint64_t now, launched; unsigned grid; } nodes[64];
static long count_of_nodes;

static Status add_node(void **p, void *graph, void **before, size_t n, const Kernel *k) {
    if (n > 1 || (n && *before != (void *)count_of_nodes) || !k->kernel || !k->grid[0] || !k->block[0]) return 1;
    nodes[count_of_nodes].now = *(uint64_t *)k->arguments[0];
    nodes[count_of_nodes].grid = k->grid[0];
    *p = (void *)++count_of_nodes;
    note("node");
    return SUCCESS;
}
static Status change_node(void *graph, void *node, const Kernel *k) {
    nodes[(long)node - 1].now = *(uint64_t *)k->arguments[0];
    note("change");
    return SUCCESS;
}
static Status launch_graph(void *graph, void *stream) {
    for (long i = 0; i < count_of_nodes; i++) nodes[i].launched = nodes[i].now;
    note("graph");
    return SUCCESS;
}
API uint64_t stub_argument(long node) { return nodes[node].launched; }

static struct { const char *name; void *function; } table[] = {
    {"cuInit", nothing}, {"cuDriverGetVersion", version}, {"cuDeviceGetCount", one}, {"cuDeviceGet", device},
    {"cuDeviceGetAttribute", attribute}, {"cuDeviceGetName", name_of}, {"cuDeviceGetUuid", uuid},
    {"cuCtxGetCurrent", a_context}, {"cuCtxGetDevice", zero}, {"cuDevicePrimaryCtxRetain", a_context},
    {"cuCtxPopCurrent", handle}, {"cuMemAllocFromPoolAsync", allocate}, {"cuMemAllocAsync", allocate},
    {"cuMemFreeAsync", give_back}, {"cuMemFree", give_back}, {"cuMemGetInfo", memory}, {"cuMemPoolTrimTo", trim},
    {"cuMemPoolGetAttribute", pool_attribute}, {"cuMemPoolSetAttribute", set_pool_attribute},
    {"cuMemAllocHost", host_memory}, {"cuMemHostAlloc", host_memory}, {"cuMemFreeHost", free_host},
    {"cuMemcpyHtoDAsync", copy_in}, {"cuMemcpyDtoHAsync", copy_out}, {"cuMemcpyHtoD", copy_in},
    {"cuMemcpyDtoH", copy_out}, {"cuPointerGetAttribute", where}, {"cuGetErrorName", text_of},
    {"cuGetErrorString", text_of}, {"cuLibraryLoadData", handle}, {"cuLibraryGetKernel", handle},
    {"cuKernelGetFunction", handle}, {"cuFuncGetAttribute", one}, {"cuKernelGetAttribute", one},
    {"cuStreamCreate", stream}, {"cuStreamCreateWithPriority", stream}, {"cuEventCreate", handle},
    {"cuCtxGetStreamPriorityRange", priorities}, {"cuEventRecord", record}, {"cuEventElapsedTime", elapsed}, {"cuStreamWaitEvent", wait},
    {"cuStreamIsCapturing", capturing}, {"cuStreamGetCaptureInfo", capturing},
    {"cuStreamSynchronize", sync}, {"cuCtxSynchronize", sync}, {"cuDeviceGetDefaultMemPool", handle},
    {"cuDeviceGetMemPool", handle}, {"cuMemPoolCreate", handle}, {"cuLaunchKernel", launch},
    {"cuLaunchKernelEx", launch}, {"cuGraphCreate", handle}, {"cuGraphInstantiate", handle},
    {"cuGraphInstantiateWithFlags", handle}, {"cuGraphAddKernelNode", add_node}, {"cuGraphLaunch", launch_graph},
    {"cuGraphExecKernelNodeSetParams", change_node}, {0, 0},
};

static void *found(const char *name) {
    static const char *endings[] = {"_ptsz", "_ptds", "_v2", "_v3", "_v4", 0};
    char text[128] = "";
    strncpy(text, name, 127);
    for (const char **s = endings; *s; s++) {
        size_t length = strlen(text), tail = strlen(*s);
        if (length > tail && !strcmp(text + length - tail, *s)) text[length - tail] = 0;
    }
    for (int i = 0; table[i].name; i++)
        if (!strcmp(table[i].name, text)) return table[i].function;
    return nothing;
}

API Status cuGetProcAddress_v2(const char *name, void **p, int v, uint64_t flags, int *status) {
    if (status) *status = 0;
    *p = strncmp(name, "cuGetProcAddress", 16) ? found(name) : (void *)cuGetProcAddress_v2;
    return SUCCESS;
}
API Status cuGetProcAddress(const char *name, void **p, int v, uint64_t flags) {
    return cuGetProcAddress_v2(name, p, v, flags, 0);
}
API Status cuInit(unsigned flags) { return SUCCESS; }
API Status cuDriverGetVersion(int *v) { return version(v); }
API Status cuDeviceGetCount(int *n) { return one(n); }
API Status cuCtxGetDevice(int *d) { return zero(d); }
API Status cuCtxSynchronize(void) { return SUCCESS; }
