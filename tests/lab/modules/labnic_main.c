// SPDX-License-Identifier: GPL-2.0
/*
 * labnic: see labnic.h.
 *
 *   insmod labnic.ko devices=rail0,rail1 [personality=mlx5]
 *   cat /proc/labnic                                 prints all counters, also those ethtool omits
 *   echo "rail0 rx_prio3_pause 1000" >/proc/labnic   sets a counter; "+5" adds 5
 */
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "labnic.h"

#define MAX_NICS 8

static char *devices[MAX_NICS];
static int n_devices;
module_param_array(devices, charp, &n_devices, 0444);
MODULE_PARM_DESC(devices, "network interfaces that get the personality");

static char *personality = "mlx5";
module_param(personality, charp, 0444);
MODULE_PARM_DESC(personality, "what they look like (mlx5)");

int labnic_hang;
module_param_named(hang, labnic_hang, int, 0644);
MODULE_PARM_DESC(hang, "1: reads of counters block; 2: they block and hold the RTNL");

static const struct labnic_personality *const personalities[] = { &labnic_mlx5 };
static struct labnic nics[MAX_NICS];

struct labnic *labnic_of(const struct net_device *dev)
{
	int i;

	for (i = 0; i < MAX_NICS; i++) {
		if (nics[i].dev == dev)
			return &nics[i];
	}
	return NULL;
}

void labnic_counter_name(const struct labnic_counter *c, int prio, char *name)
{
	const char *hole = strstr(c->name, "%d");

	if (hole)
		snprintf(name, ETH_GSTRING_LEN, "%.*s%d%s", (int)(hole - c->name), c->name,
			 prio, hole + 2);
	else
		strscpy(name, c->name, ETH_GSTRING_LEN);
}

u64 *labnic_counter(struct labnic *nic, const char *name, int prio)
{
	int i;

	for (i = 0; i < nic->what->n_counters; i++) {
		if (!strcmp(nic->what->counters[i].name, name))
			return &nic->values[i * LABNIC_PRIOS + prio];
	}
	return NULL;
}

u64 labnic_value(struct labnic *nic, int counter, int prio,
		 const struct rtnl_link_stats64 *real)
{
	u32 flags = nic->what->counters[counter].flags;
	u64 value = nic->values[counter * LABNIC_PRIOS + prio];

	if (flags & LABNIC_RX_PACKETS)
		value += real->rx_packets;
	if (flags & LABNIC_RX_BYTES)
		value += real->rx_bytes;
	if (flags & LABNIC_TX_PACKETS)
		value += real->tx_packets;
	if (flags & LABNIC_TX_BYTES)
		value += real->tx_bytes;
	return value;
}

static int show(struct seq_file *seq, void *unused)
{
	char name[ETH_GSTRING_LEN];
	int n, i, prio;

	rtnl_lock();
	for (n = 0; n < MAX_NICS; n++) {
		struct labnic *nic = &nics[n];

		for (i = 0; nic->dev && i < nic->what->n_counters * LABNIC_PRIOS; i++) {
			const struct labnic_counter *c = &nic->what->counters[i / LABNIC_PRIOS];

			prio = i % LABNIC_PRIOS;
			if (prio && !(c->flags & LABNIC_PRIO))
				continue;
			labnic_counter_name(c, prio, name);
			seq_printf(seq, "%s %s %llu\n", nic->dev->name, name, nic->values[i]);
		}
	}
	rtnl_unlock();
	return 0;
}

static int open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static int set_counter(const char *dev, const char *wanted, const char *value)
{
	char name[ETH_GSTRING_LEN];
	u64 number;
	int n, i;

	if (kstrtou64(value + (value[0] == '+'), 10, &number))
		return -EINVAL;
	for (n = 0; n < MAX_NICS; n++) {
		struct labnic *nic = &nics[n];

		if (!nic->dev || strcmp(nic->dev->name, dev))
			continue;
		for (i = 0; i < nic->what->n_counters * LABNIC_PRIOS; i++) {
			labnic_counter_name(&nic->what->counters[i / LABNIC_PRIOS],
					    i % LABNIC_PRIOS, name);
			if (strcmp(name, wanted))
				continue;
			nic->values[i] = value[0] == '+' ? nic->values[i] + number : number;
			return 0;
		}
		return -ENOENT;
	}
	return -ENODEV;
}

static ssize_t write(struct file *file, const char __user *user, size_t len, loff_t *pos)
{
	char *line, *at, *dev, *name, *value;
	int err;

	if (len > 256)
		return -EINVAL;
	line = memdup_user_nul(user, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	at = strim(line);
	dev = strsep(&at, " ");
	name = strsep(&at, " ");
	value = strsep(&at, " ");
	err = -EINVAL;
	if (value && !at) {
		rtnl_lock();
		err = set_counter(dev, name, value);
		rtnl_unlock();
	}
	kfree(line);
	return err ? err : len;
}

static const struct proc_ops proc_ops = {
	.proc_open = open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = write,
};

static int attach(struct labnic *nic, const char *name, const struct labnic_personality *what)
{
	struct net_device *dev = __dev_get_by_name(&init_net, name);

	if (!dev)
		return -ENODEV;
	if (labnic_of(dev))
		return -EEXIST;
	nic->values = kcalloc(what->n_counters * LABNIC_PRIOS, sizeof(u64), GFP_KERNEL);
	if (!nic->values)
		return -ENOMEM;
	nic->what = what;
	nic->dcbx = what->dcbx;
	nic->storm_ms = 8000;
	nic->buffer.total_size = 1024 * LABNIC_CELL;
	nic->buffer.buffer_size[0] = 512 * LABNIC_CELL;
	nic->buffer.buffer_size[1] = 512 * LABNIC_CELL;
	what->reset(nic);
	nic->old_dcbnl = dev->dcbnl_ops;
	nic->old_ethtool = dev->ethtool_ops;
	labnic_ethtool_ops(nic);
	nic->dev = dev;
	netdev_hold(dev, &nic->tracker, GFP_KERNEL);
	dev->dcbnl_ops = &labnic_dcbnl_ops;
	dev->ethtool_ops = &nic->ethtool;
	return 0;
}

static void detach(struct labnic *nic)
{
	if (!nic->dev)
		return;
	labnic_dcb_clear(nic);
	nic->dev->dcbnl_ops = nic->old_dcbnl;
	nic->dev->ethtool_ops = nic->old_ethtool;
	netdev_put(nic->dev, &nic->tracker);
	nic->dev = NULL;
	kfree(nic->values);
}

static int on_netdev(struct notifier_block *block, unsigned long event, void *ptr)
{
	struct labnic *nic = labnic_of(netdev_notifier_info_to_dev(ptr));

	if (nic && event == NETDEV_UNREGISTER)
		detach(nic);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = on_netdev };

static int __init labnic_init(void)
{
	const struct labnic_personality *what = NULL;
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(personalities); i++) {
		if (!strcmp(personalities[i]->name, personality))
			what = personalities[i];
	}
	if (!what || n_devices == 0)
		return -EINVAL;
	rtnl_lock();
	for (i = 0; i < n_devices && !err; i++) {
		err = attach(&nics[i], devices[i], what);
		if (err)
			pr_err("labnic: %s: error %d\n", devices[i], err);
	}
	rtnl_unlock();
	if (!err)
		err = register_netdevice_notifier(&notifier);
	if (!err && !proc_create("labnic", 0644, NULL, &proc_ops)) {
		unregister_netdevice_notifier(&notifier);
		err = -ENOMEM;
	}
	if (err) {
		rtnl_lock();
		for (i = 0; i < MAX_NICS; i++)
			detach(&nics[i]);
		rtnl_unlock();
	}
	return err;
}

static void __exit labnic_exit(void)
{
	int i;

	remove_proc_entry("labnic", NULL);
	unregister_netdevice_notifier(&notifier);
	rtnl_lock();
	for (i = 0; i < MAX_NICS; i++)
		detach(&nics[i]);
	rtnl_unlock();
}

module_init(labnic_init);
module_exit(labnic_exit);
MODULE_DESCRIPTION("DCB and ethtool of a real RDMA card on a virtual one, for tests");
MODULE_LICENSE("GPL");
