// SPDX-License-Identifier: GPL-2.0
/*
 * labgpu: a PCI bus in a separate domain with one function, which has the configuration space of a
 * data-centre GPU. It has no memory and no driver. /sys/bus/pci/devices lists it.
 */
#include <linux/module.h>
#include <linux/pci.h>

#define DOMAIN 1
#define BUS 0x1b
#define PCIE_CAP 0x60

static struct {
	u8 bytes[256];
} config;

static struct pci_sysdata sysdata = { .domain = DOMAIN, .node = NUMA_NO_NODE };
static struct resource busn = {
	.name = "labgpu", .start = BUS, .end = BUS, .flags = IORESOURCE_BUS,
};
static struct pci_bus *bus;

static void put(int where, int size, u32 value)
{
	int i;

	for (i = 0; i < size; i++)
		config.bytes[where + i] = value >> (8 * i);
}

static void fill_config(void)
{
	put(PCI_VENDOR_ID, 2, PCI_VENDOR_ID_NVIDIA);
	put(PCI_DEVICE_ID, 2, 0x2330);			/* H100 SXM5 80GB */
	put(PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	put(PCI_CLASS_REVISION, 4, 0x030200a1);		/* 3D controller */
	put(PCI_SUBSYSTEM_VENDOR_ID, 2, PCI_VENDOR_ID_NVIDIA);
	put(PCI_SUBSYSTEM_ID, 2, 0x16c1);
	put(PCI_CAPABILITY_LIST, 1, PCIE_CAP);
	put(PCIE_CAP, 1, PCI_CAP_ID_EXP);
	put(PCIE_CAP + PCI_EXP_FLAGS, 2, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put(PCIE_CAP + PCI_EXP_LNKCAP, 4, PCI_EXP_LNKCAP_SLS_32_0GB | 16 << 4);
	put(PCIE_CAP + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_CLS_32_0GB | 16 << 4);
	put(PCIE_CAP + PCI_EXP_LNKCAP2, 4, 0x3e);	/* 2.5 to 32 GT/s */
}

static bool is_gpu(struct pci_bus *b, unsigned int devfn, int where, int size)
{
	return b->number == BUS && devfn == 0 && where + size <= sizeof(config.bytes);
}

static int read_config(struct pci_bus *b, unsigned int devfn, int where, int size, u32 *value)
{
	int i;

	*value = ~0;
	if (!is_gpu(b, devfn, where, size))
		return PCIBIOS_DEVICE_NOT_FOUND;
	*value = 0;
	for (i = 0; i < size; i++)
		*value |= (u32)config.bytes[where + i] << (8 * i);
	return PCIBIOS_SUCCESSFUL;
}

/* Only the command register and the interrupt line are writable: there are no BARs. */
static int write_config(struct pci_bus *b, unsigned int devfn, int where, int size, u32 value)
{
	if (!is_gpu(b, devfn, where, size))
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where == PCI_COMMAND && size == 2)
		put(where, 2, value);
	if (where == PCI_INTERRUPT_LINE && size == 1)
		put(where, 1, value);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops ops = { .read = read_config, .write = write_config };

static int __init labgpu_init(void)
{
	LIST_HEAD(resources);

	fill_config();
	pci_add_resource(&resources, &busn);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(NULL, BUS, &ops, &sysdata, &resources);
	if (bus) {
		pci_scan_child_bus(bus);
		pci_bus_add_devices(bus);
	} else {
		pci_free_resource_list(&resources);
	}
	pci_unlock_rescan_remove();
	return bus ? 0 : -ENODEV;
}

static void __exit labgpu_exit(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
}

module_init(labgpu_init);
module_exit(labgpu_exit);
MODULE_DESCRIPTION("A PCI function that looks like a GPU, for tests");
MODULE_LICENSE("GPL");
