/* SPDX-License-Identifier: GPL-2.0 */
/*
 * labnic: emulates the DCB and ethtool interfaces of a real RDMA card on a test guest's cards.
 * A personality (a file each, such as labnic_mlx5.c) is a table of names, counters and functions.
 * The RTNL guards all state. The kernel holds it when it calls both kinds of operations.
 */
#ifndef LABNIC_H
#define LABNIC_H

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <net/dcbnl.h>

#define LABNIC_PRIOS 8
#define LABNIC_DSCPS 64
#define LABNIC_CELL 256		/* of a port buffer, in bytes */

/* When a counter is shown, and the value that is added to the one that was set. */
#define LABNIC_PRIO		BIT(0)	/* the name holds a %d: one for each priority */
#define LABNIC_IF_PFC		BIT(1)	/* only for priorities with PFC */
#define LABNIC_IF_PAUSE		BIT(2)	/* only with global pause */
#define LABNIC_RX_PACKETS	BIT(4)	/* plus the card's real packets */
#define LABNIC_RX_BYTES		BIT(5)
#define LABNIC_TX_PACKETS	BIT(6)
#define LABNIC_TX_BYTES		BIT(7)

struct labnic_counter {
	const char *name;
	u32 flags;
};

struct labnic;

struct labnic_personality {
	const char *name;
	const char *driver;
	const char *version;
	const char *fw_version;
	u32 speed;			/* Mb/s */
	u8 dcbx;			/* DCB_CAP_DCBX_* at start */
	const struct labnic_counter *counters;
	int n_counters;
	const char *pfc_sent;		/* counters that are also the requests of ieee_pfc, */
	const char *pfc_received;	/* and its indications; both with LABNIC_PRIO */
	void (*reset)(struct labnic *nic);	/* sets pfc, ets, dscp_prio as after a reset */
	int (*check_ets)(const struct ieee_ets *ets);
	int (*setapp)(struct labnic *nic, struct dcb_app *app);
	int (*delapp)(struct labnic *nic, struct dcb_app *app);
};

struct labnic {
	struct net_device *dev;		/* referenced; NULL: unused */
	netdevice_tracker tracker;
	const struct labnic_personality *what;
	const struct dcbnl_rtnl_ops *old_dcbnl;
	const struct ethtool_ops *old_ethtool;
	struct ethtool_ops ethtool;	/* the driver's own with some replaced */
	struct ieee_pfc pfc;		/* without its counters */
	struct ieee_ets ets;
	struct dcbnl_buffer buffer;
	struct ieee_maxrate maxrate;
	u16 storm_ms;			/* limit of a pause by PFC; 0: no limit */
	u8 dcbx;
	u8 dscp_prio[LABNIC_DSCPS];	/* the map in the "hardware" */
	DECLARE_BITMAP(published, LABNIC_DSCPS);	/* has an APP entry */
	bool rx_pause, tx_pause;
	u64 *values;			/* n_counters * LABNIC_PRIOS */
};

extern int labnic_hang;	/* reads of counters block */
extern const struct labnic_personality labnic_mlx5;
extern const struct dcbnl_rtnl_ops labnic_dcbnl_ops;

struct labnic *labnic_of(const struct net_device *dev);
u64 *labnic_counter(struct labnic *nic, const char *name, int prio);
void labnic_counter_name(const struct labnic_counter *c, int prio, char *name);
u64 labnic_value(struct labnic *nic, int counter, int prio,
		 const struct rtnl_link_stats64 *real);
void labnic_ethtool_ops(struct labnic *nic);
int labnic_publish(struct labnic *nic, u8 dscp);
void labnic_withdraw(struct labnic *nic, u8 dscp);
void labnic_dcb_clear(struct labnic *nic);

#endif
