// SPDX-License-Identifier: GPL-2.0
/* The ethtool side: driver name, link, pause, statistics. */
#include <linux/delay.h>
#include <linux/rtnetlink.h>
#include "labnic.h"

static bool shown(struct labnic *nic, const struct labnic_counter *c, int prio)
{
	if (prio > 0 && !(c->flags & LABNIC_PRIO))
		return false;
	if ((c->flags & LABNIC_IF_PFC) && !(nic->pfc.pfc_en & BIT(prio)))
		return false;
	if ((c->flags & LABNIC_IF_PAUSE) && !nic->rx_pause && !nic->tx_pause)
		return false;
	return true;
}

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct labnic *nic = labnic_of(dev);
	struct device *parent = dev->dev.parent;

	/* A virtio card's parent is the virtio device; the PCI function is above it. */
	if (parent && parent->bus && !strcmp(parent->bus->name, "virtio"))
		parent = parent->parent;
	strscpy(info->driver, nic->what->driver, sizeof(info->driver));
	strscpy(info->version, nic->what->version, sizeof(info->version));
	strscpy(info->fw_version, nic->what->fw_version, sizeof(info->fw_version));
	if (parent)
		strscpy(info->bus_info, dev_name(parent), sizeof(info->bus_info));
}

static int get_link_ksettings(struct net_device *dev, struct ethtool_link_ksettings *link)
{
	struct labnic *nic = labnic_of(dev);

	ethtool_link_ksettings_zero_link_mode(link, supported);
	ethtool_link_ksettings_zero_link_mode(link, advertising);
	ethtool_link_ksettings_zero_link_mode(link, lp_advertising);
	ethtool_link_ksettings_add_link_mode(link, supported, FIBRE);
	ethtool_link_ksettings_add_link_mode(link, supported, Autoneg);
	ethtool_link_ksettings_add_link_mode(link, supported, Pause);
	ethtool_link_ksettings_add_link_mode(link, supported, 100000baseCR4_Full);
	ethtool_link_ksettings_add_link_mode(link, advertising, FIBRE);
	ethtool_link_ksettings_add_link_mode(link, advertising, Autoneg);
	ethtool_link_ksettings_add_link_mode(link, advertising, 100000baseCR4_Full);
	link->base.speed = netif_carrier_ok(dev) ? nic->what->speed : SPEED_UNKNOWN;
	link->base.duplex = netif_carrier_ok(dev) ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	link->base.port = PORT_DA;
	link->base.autoneg = AUTONEG_ENABLE;
	return 0;
}

static void get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct labnic *nic = labnic_of(dev);

	pause->autoneg = AUTONEG_DISABLE;
	pause->rx_pause = nic->rx_pause;
	pause->tx_pause = nic->tx_pause;
}

static int set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct labnic *nic = labnic_of(dev);

	if (pause->autoneg)
		return -EINVAL;
	nic->rx_pause = pause->rx_pause;
	nic->tx_pause = pause->tx_pause;
	return 0;
}

static int get_sset_count(struct net_device *dev, int set)
{
	struct labnic *nic = labnic_of(dev);
	int i, prio, count = 0;

	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	for (i = 0; i < nic->what->n_counters; i++)
		for (prio = 0; prio < LABNIC_PRIOS; prio++)
			count += shown(nic, &nic->what->counters[i], prio);
	return count;
}

static void get_strings(struct net_device *dev, u32 set, u8 *data)
{
	struct labnic *nic = labnic_of(dev);
	int i, prio;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < nic->what->n_counters; i++) {
		for (prio = 0; prio < LABNIC_PRIOS; prio++) {
			if (!shown(nic, &nic->what->counters[i], prio))
				continue;
			labnic_counter_name(&nic->what->counters[i], prio, data);
			data += ETH_GSTRING_LEN;
		}
	}
}

/*
 * Emulates firmware that does not respond. A real driver holds the RTNL meanwhile (2), which blocks
 * every request for a setting of any netdev. Without the RTNL (1), only this driver blocks.
 */
static void wait_while_hanging(void)
{
	int hang = READ_ONCE(labnic_hang);

	if (hang == 1)
		rtnl_unlock();
	while (READ_ONCE(labnic_hang))
		msleep(20);
	if (hang == 1)
		rtnl_lock();
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *data)
{
	struct labnic *nic = labnic_of(dev);
	struct rtnl_link_stats64 real;
	int i, prio;

	wait_while_hanging();
	dev_get_stats(dev, &real);
	for (i = 0; i < nic->what->n_counters; i++) {
		for (prio = 0; prio < LABNIC_PRIOS; prio++) {
			if (shown(nic, &nic->what->counters[i], prio))
				*data++ = labnic_value(nic, i, prio, &real);
		}
	}
}

static int get_tunable(struct net_device *dev, const struct ethtool_tunable *tunable, void *data)
{
	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EINVAL;
	*(u16 *)data = labnic_of(dev)->storm_ms;
	return 0;
}

static int set_tunable(struct net_device *dev, const struct ethtool_tunable *tunable,
		       const void *data)
{
	u16 ms = *(const u16 *)data;

	if (tunable->id != ETHTOOL_PFC_PREVENTION_TOUT)
		return -EINVAL;
	if (ms == PFC_STORM_PREVENTION_AUTO)
		ms = 100;
	if (ms && (ms < 80 || ms > 8000))
		return -EINVAL;
	labnic_of(dev)->storm_ms = ms;
	return 0;
}

/* Copies the driver's own operations and replaces some of them. */
void labnic_ethtool_ops(struct labnic *nic)
{
	if (nic->old_ethtool)
		nic->ethtool = *nic->old_ethtool;
	nic->ethtool.get_drvinfo = get_drvinfo;
	nic->ethtool.get_link_ksettings = get_link_ksettings;
	nic->ethtool.set_link_ksettings = NULL;
	nic->ethtool.get_pauseparam = get_pauseparam;
	nic->ethtool.set_pauseparam = set_pauseparam;
	nic->ethtool.get_tunable = get_tunable;
	nic->ethtool.set_tunable = set_tunable;
	nic->ethtool.get_sset_count = get_sset_count;
	nic->ethtool.get_strings = get_strings;
	nic->ethtool.get_ethtool_stats = get_ethtool_stats;
}
