"""The report the demonstration reads: four pages about a water works, the third one only a picture."""

from __future__ import annotations

from pathlib import Path

from lucius.services.documents.pages import image_page, text_page
from lucius.services.documents.pdf import pdf_bytes

IMAGE_PAGES = frozenset({3})

REPORT: tuple[str, ...] = (
    """\
NORTHFIELD WATER WORKS
Yearly report 2030

Report number: NWW-2030-07
Published on: 14 March 2031
Reporting period: 1 January 2030 to 31 December 2030
Contact: reports@northfield-water.example

Summary

In 2030 the Northfield Water Works supplied drinking water to 48,200 people in
19,640 households and to 1,315 businesses. In all, 3,412,000 cubic metres of water
were delivered, 2.1 percent more than in the year before. The water met every limit
of the drinking water rules throughout the year.

The price of water stayed at EUR 1.94 per cubic metre. The basic fee is
EUR 7.50 per month.

Losses in the pipes fell from 8.9 percent to 7.4 percent, because 11.6 kilometres of
old pipes were replaced. The goal for 2032 is 6.0 percent.
""",
    """\
Water quality

The laboratory took 1,248 samples in 2030. All but three were within the limits at
the first test; the three were taken again within two days and were then in order.

Hardness: 12.4 degrees
Nitrate: 18 mg per litre (limit: 50 mg per litre)
pH value: 7.6
Temperature at the source: 10.2 degrees Celsius

The water comes from six wells in the Alder valley and from the Stonebrook spring.
The deepest well is 142 metres deep. Well 4 was closed for cleaning from 3 May 2030
to 21 June 2030; the other wells took over its share and no household was without
water.

The water is filtered through sand and treated with ultraviolet light. Chlorine is
only kept ready for emergencies and was not used in 2030.
""",
    """\
Finance

Total revenue: EUR 9,874,300
Total costs: EUR 9,126,850
Surplus: EUR 747,450

The largest costs were staff with EUR 3,418,000, the renewal of pipes with EUR
2,960,000 and energy with EUR 1,105,200. The solar plant on the roof of the pumping
station saved EUR 84,600.

Invoice number: 2030-118-A
Amount due: EUR 12,480.50
Due date: 30 April 2031

The surplus goes into the reserve for the new reservoir.
""",
    """\
Outlook

A second reservoir will be built on Mill Hill. It holds 6,500 cubic metres and costs
EUR 5,200,000. Work begins on 2 June 2031 and should end in October 2032.

From 1 January 2032 all new water meters will be read by radio. Until then the
meters are read once a year, in November.

Burst pipes can be reported at any hour: telephone +49 555 0142, e-mail
help@northfield-water.example. In 2030 the repair service was called 212 times; on
average it arrived after 47 minutes.

The next yearly report will be published in March 2032.
""",
)
"""What the pages say."""


def report_pdf(path: Path) -> Path:
    """Write the report: a text layer on pages 1, 2 and 4, a picture on page 3."""
    pages = [
        image_page(text) if number in IMAGE_PAGES else text_page(text)
        for number, text in enumerate(REPORT, start=1)
    ]
    path.write_bytes(pdf_bytes(pages))
    return path
