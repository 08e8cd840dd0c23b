/* Names of C++, as reports show them. */
#include <string.h>

#include "base/demangle.h"
#include "../check.h"

static const struct { const char *mangled, *shown; } names[] = {
	{"_Z5scalePfi", "scale"},
	{"_Z5scaleIfEvPT_i", "scale<float>"},
	{"_ZN3app5tallyIfLi32EEEvPT_i", "app::tally<float, 32>"},
	{"_ZN12_GLOBAL__N_15tallyEPf", "(anonymous namespace)::tally"},
	{"_ZN8__main__5wrongB2v1B5cw51cE5ArrayIfLi1E1C7mutable7alignedEx", "__main__::wrong"},
	{"_Z4callIPFvPiEEvT_S0_", "call<void (*)(int*)>"},
	{"_ZNK1aplERKS_", "a::operator+(a const&) const"},
	{"_Z10myoperatorIiEvv", "myoperator<int>"},
	{"tally", NULL},
	{"_Znothing", NULL},
	/* at::native's, with three lambdas: too long for its arguments */
	{"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_15exp_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEv"
	 "ENKUlvE_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_", "at::native::elementwise_kernel<...>"},
};

int main(void)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *shown = demangle_shortly(names[i].mangled);
		printf("%s\n", shown ? shown : names[i].mangled);
		CHECK(!shown == !names[i].shown);
		CHECK(!shown || !strcmp(shown, names[i].shown));
		free(shown);
	}
	char *all = demangle("_Z5scaleIfEvPT_i");
	CHECK(all && !strcmp(all, "void scale<float>(float*, int)"));
	free(all);
	return 0;
}
