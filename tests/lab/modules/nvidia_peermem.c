// SPDX-License-Identifier: GPL-2.0
/*
 * An empty module with the name and a version of NVIDIA's peer memory client, for programs that
 * read /proc/modules or /sys/module/nvidia_peermem.
 */
#include <linux/module.h>

static int __init peermem_init(void)
{
	return 0;
}

static void __exit peermem_exit(void)
{
}

module_init(peermem_init);
module_exit(peermem_exit);
MODULE_DESCRIPTION("Stand-in for nvidia-peermem in test guests");
MODULE_VERSION("535.129.03");
MODULE_LICENSE("GPL");
