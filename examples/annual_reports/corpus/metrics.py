"""What reports count, by the names it goes under in English and Chinese.

Rules of this module:

* A metric is a name of ours; its names are what reports and questions call it. The table is general knowledge of
  accounting, and short: what is not in it is found by its words.
* A longer name wins over a shorter one inside it: `营业利润` is no `利润`, `net sales` no `sales`.
* Pure: no I/O.
"""

from __future__ import annotations

import re
from functools import lru_cache

from examples.annual_reports.corpus.words import folded

__all__ = ["METRICS", "asks_for_figure", "asks_for_reason", "metrics_of", "years_of"]

_TABLE = """
revenue: revenue; revenues; net sales; sales; turnover; top line; 营业收入; 营收;
  销售收入; 主营业务收入
cost of sales: cost of sales; cost of revenue; cost of goods sold; cogs; 营业成本;
  主营业务成本; 销售成本
gross profit: gross profit; gross margin; 毛利; 毛利率; 毛利润
operating income: operating income; operating profit; income from operations;
  ebit; 营业利润; 经营利润
ebitda: ebitda; 息税折旧摊销前利润
net income: net income; net earnings; net profit; net loss; earnings; bottom
  line; 净利润; 归母净利润; 净利
profit before tax: profit before tax; income before taxes; earnings before
  income tax; pre-tax income; 利润总额; 税前利润
earnings per share: earnings per share; eps; per diluted share; 每股收益; 每股盈利
dividend: dividend; dividends; distribution to shareholders; 股利; 分红; 派息; 股息;
  利润分配
buyback: share repurchase; share repurchases; stock repurchase; stock
  repurchases; repurchased; repurchase; repurchases; buyback; buybacks; buy-back; 回购
research: research and development; r&d; 研发; 研发费用; 研究开发; 研发投入
selling and administration: selling, general and administrative; sg&a; 销售费用;
  管理费用; 期间费用
wages: wages; wage; payroll; salaries; employee compensation; staff costs; 薪酬;
  工资; 人工成本; 职工薪酬
headcount: employees; headcount; workforce; 员工; 职工人数; 员工人数
marketing: advertising; marketing expense; marketing expenses; 广告费; 市场推广
depreciation: depreciation; amortization; amortisation; 折旧; 摊销
interest: interest expense; interest paid; finance costs; 利息支出; 财务费用
tax: income tax; income taxes; effective tax rate; tax rate; tax expense; 所得税;
  税率; 税收优惠
cash: cash and cash equivalents; cash & cash equivalents; cash balance; 货币资金;
  现金及现金等价物
operating cash flow: cash provided by operating activities; operating cash
  flow; cash flow from operations; cash flows from operating activities;
  经营活动产生的现金流量; 经营性现金流; 经营现金流
free cash flow: free cash flow; 自由现金流
capital expenditure: capital expenditure; capital expenditures; capex;
  purchase of property, plant and equipment; purchases of property and
  equipment; additions to property and equipment; 资本支出; 资本开支; 固定资产投资
inventory: inventory; inventories; merchandise inventories; 存货; 库存
receivables: receivable; receivables; 应收账款; 应收款项; 应收帐款
payables: accounts payable; trade payables; 应付账款; 应付帐款
fixed assets: property, plant and equipment; property and equipment; pp&e;
  ppne; 固定资产
goodwill: goodwill; 商誉
intangible assets: intangible assets; intangibles; 无形资产
total assets: total assets; 资产总额; 总资产; 资产总计
current assets: current assets; 流动资产
liabilities: total liabilities; liabilities; 负债总额; 负债合计; 总负债
current liabilities: current liabilities; 流动负债
debt: debt; borrowings; long-term debt; notes payable; 借款; 长期借款; 债务; 有息负债
gearing: debt to equity; gearing; leverage ratio; 资产负债率
liquidity: current ratio; quick ratio; 流动比率; 速动比率
equity: shareholders' equity; stockholders' equity; total equity; 股东权益; 所有者权益;
  净资产
return on equity: return on equity; roe; 净资产收益率
turnover ratio: inventory turnover; asset turnover; 周转率; 周转天数
segment: segment; segments; business unit; product category; 分部; 业务板块; 产品线
customers: customers; major customers; 客户; 前五大客户; 前五名客户
suppliers: suppliers; vendors; 供应商; 原材料
stores: stores; store count; number of stores; 门店
share capital: share capital; shares outstanding; issued shares; 总股本; 股本; 注册资本
controlling shareholder: controlling shareholder; major shareholder; 控股股东;
  实际控制人
restructuring: restructuring; 重组; 重组费用
guidance: outlook; guidance; forecast; 业绩预告; 盈利预测; 展望
litigation: litigation; legal proceedings; lawsuit; 诉讼; 仲裁
production: production volume; output; capacity; 产量; 产能
reserves: ore reserves; proved reserves; mineral resources; 储量; 可采储量; 资源量
proceeds: use of proceeds; offering proceeds; 募集资金; 募投项目
"""

METRICS: dict[str, tuple[str, ...]] = {
    name: tuple(names.split("; "))
    for name, names in (line.split(": ", 1) for line in _TABLE.replace("\n  ", " ").strip().splitlines())
}
"""Each metric's names."""

_ENGLISH = sorted(
    ((folded(name), metric) for metric, names in METRICS.items() for name in names if name.isascii()),
    key=lambda pair: -len(pair[0]),
)
_CHINESE = sorted(
    ((name, metric) for metric, names in METRICS.items() for name in names if not name.isascii()),
    key=lambda pair: -len(pair[0]),
)
_BY_NAME = dict((*_ENGLISH, *_CHINESE))
_NAMES = re.compile(
    rf"(?<![a-z])(?:{'|'.join(re.escape(name) for name, _ in _ENGLISH)})(?![a-z])"
    rf"|{'|'.join(name for name, _ in _CHINESE)}"
)
_FIGURE = re.compile(
    r"how (?:much|many|large|high)|what (?:was|is|were|are) the|percent|%|ratio|rate\b|amount|total|average|change in|"
    r"growth|increase|decrease|decline|margin|per share|"
    r"多少|几|金额|比例|占比|增长|下降|变动|同比|率|总额|合计|平均|数量|分别为",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"what (?:drove|caused|explains)|\bwhy\b|reasons?\b|due to|driven by|原因|为什么|为何", re.IGNORECASE
)
_YEAR = re.compile(
    r"(?<!\d)(?:fy|fiscal(?: year)?)?[ -]?'?((?:19|20)\d{2})(?!\d|\.\d|,\d)|\bfy ?'?(\d{2})\b", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def metrics_of(text: str) -> frozenset[str]:
    """The metrics that a text names."""
    return frozenset(_BY_NAME[name] for name in _NAMES.findall(folded(text)))


def asks_for_figure(question: str) -> bool:
    """Whether a question wants a number, and not the reason for one."""
    return _FIGURE.search(question) is not None and not asks_for_reason(question)


def asks_for_reason(question: str) -> bool:
    """Whether a question wants to know why."""
    return _REASON.search(question) is not None


def years_of(text: str) -> tuple[int, ...]:
    """The years that a text names, in order and once; `FY24` is 2024."""
    found = (int(long) if long else 2000 + int(short) for long, short in _YEAR.findall(text))
    return tuple(dict.fromkeys(found))
